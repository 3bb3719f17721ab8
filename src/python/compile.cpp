// A plugin's compiler for Python: what it lists, graphs built node by node, groups, and engines that are
// called.

#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "aten/kernel/call_flags.h"
#include "base/dtype.h"
#include "compile/compilation.h"
#include "compile/compile_error.h"
#include "compile/compiler.h"
#include "compile/engine_group.h"
#include "graph/error.h"
#include "graph/extract.h"
#include "graph/text.h"
#include "python/argument.h"
#include "python/bindings.h"
#include "python/waiting.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

using compile::Compiler;
using compile::EngineGroup;
using graph::Argument;
using Extents = std::vector<int64_t>;

const Compiler& compiler_of(DeviceIndex device) {
  const Compiler* compiler = Compiler::of(device);
  TORCH_CHECK(compiler != nullptr, "Plugin '", module_of(device).name,
              "' has no compiler (plug_module.compiler). Run the model without torch.compile, or with "
              "backend=\"eager\".");
  return *compiler;
}

std::shared_ptr<const graph::Constant> content_of(const at::Tensor& tensor) {
  const at::Tensor host = tensor.cpu().contiguous();
  return std::make_shared<graph::Constant>(
      std::shared_ptr<const void>(host.const_data_ptr(), [host](const void* /*owned by the tensor*/) {}),
      host.nbytes());
}

graph::TensorType tensor_type(at::ScalarType dtype, Extents sizes, std::optional<Extents> strides) {
  return {plug_dtype_of(dtype), std::move(sizes), std::move(strides)};
}

using ResultType = std::tuple<at::ScalarType, Extents, std::optional<Extents>>;

std::vector<int32_t> add_node(graph::Graph& graph, const std::string& schema, int32_t place,
                              const py::list& args, const std::vector<std::optional<ResultType>>& results,
                              const std::string& source) {
  std::vector<Argument> arguments;
  for (const py::handle& argument : args) arguments.push_back(argument_of(argument));
  std::vector<std::optional<graph::TensorType>> types;
  for (const auto& result : results) {
    types.emplace_back();
    if (result) types.back() = tensor_type(std::get<0>(*result), std::get<1>(*result), std::get<2>(*result));
  }
  const int32_t node =
      graph.add_node(graph.add_operator(schema, place), std::move(arguments), std::move(types), source);
  return graph.nodes()[static_cast<size_t>(node)].results;
}

void set_outputs(graph::Graph& graph, const std::vector<std::pair<int32_t, int32_t>>& given) {
  std::vector<graph::Output> outputs;
  outputs.reserve(given.size());
  for (const auto& [value, updates] : given) outputs.push_back({value, updates});
  graph.set_outputs(std::move(outputs));
}

// Groups as Python has them: the nodes of each, why others are in none, and the steps to run in.
py::dict group(const graph::Graph& graph, DeviceIndex device,
               const std::vector<std::tuple<bool, bool, std::string>>& candidates, int64_t min_nodes) {
  std::vector<graph::Candidate> known;
  known.reserve(candidates.size());
  for (const auto& [may_compile, is_view, why] : candidates) known.push_back({may_compile, is_view, why});
  const bool may_any = std::ranges::any_of(known, &graph::Candidate::may_compile);
  const auto partition = may_any ? compiler_of(device).partition(graph) : std::nullopt;
  const graph::Groups groups = partition ? graph::group_nodes(graph, *partition, known, min_nodes)
                                         : group_nodes(graph, known, min_nodes);
  py::list steps;
  for (const auto& step : groups.steps) steps.append(py::make_tuple(step.group, step.node));
  py::dict found;
  found["groups"] = groups.groups;
  found["why"] = groups.why;
  found["steps"] = steps;
  return found;
}

py::tuple extract(const graph::Graph& graph, const std::vector<int32_t>& nodes) {
  graph::Extracted found = graph::Extractor(graph).extract(nodes);
  std::vector<int32_t> updates;
  for (const graph::Output& output : found.graph.outputs()) updates.push_back(output.updates);
  return py::make_tuple(std::move(found.graph), found.inputs, found.outputs, found.symbols, updates);
}

py::dict operators_of(DeviceIndex device) {
  py::dict operators;
  const Compiler& compiler = compiler_of(device);
  for (const std::string& name : compiler.names()) {
    const Binding& binding = *compiler.find(name);
    py::dict found;
    found["schema"] = binding.kernel->schema;
    found["place"] = compiler.place_of(binding);
    found["arguments"] = binding.argument_of;
    found["needs_value"] = binding.needs_value;
    found["unknown"] = binding.unknown_arguments;
    operators[py::str(name)] = found;
  }
  return operators;
}

py::dict describe_compiler(DeviceIndex device) {
  const Compiler& compiler = compiler_of(device);
  py::dict found;
  found["symbols"] = compiler.has(PLUG_COMPILER_SYMBOLS);
  found["strided"] = compiler.has(PLUG_COMPILER_STRIDED);
  found["updates"] = compiler.has(PLUG_COMPILER_UPDATES);
  found["saves"] = compiler.saves();
  found["packs"] = compiler.table().engine_pack != nullptr;
  found["partitions"] = compiler.table().partition != nullptr;
  found["exclusive"] = compiler.has(PLUG_COMPILER_EXCLUSIVE);
  py::list unused;
  for (const UnusedKernel& one : compiler.unused()) unused.append(py::make_tuple(one.schema, one.why));
  found["unused"] = unused;
  return found;
}

std::shared_ptr<EngineGroup> make_group(DeviceIndex device, graph::Graph graph,
                                        std::vector<std::string> options, size_t engines, bool in_background,
                                        std::string directory, std::vector<std::optional<Extents>> strides,
                                        bool gives_up) {
  // PyTorch makes another program when they change.
  graph.set_flags(call_flags(/*multiplies=*/true));
  return std::make_shared<EngineGroup>(
      compiler_of(device), std::move(graph),
      compile::GroupSettings{std::move(options), engines, in_background, gives_up, std::move(directory)},
      std::move(strides));
}

std::optional<std::vector<at::Tensor>> run(EngineGroup& group, const std::vector<at::Tensor>& inputs,
                                           const std::vector<int64_t>& numbers) {
  return while_waiting([&](const auto& interruption) { return group.run(inputs, numbers, interruption); });
}

bool prepare(EngineGroup& group, const std::vector<int64_t>& numbers) {
  return while_waiting([&](const auto& interruption) { return group.prepare(numbers, interruption); });
}

py::dict report_of(const EngineGroup& group) {
  const compile::GroupReport report = group.report();
  py::dict found;
  found["engines"] = report.engines;
  found["compiled"] = report.compiled;
  found["loaded"] = report.loaded;
  found["seconds"] = report.seconds;
  found["runs"] = report.runs;
  found["runs_without"] = report.runs_without;
  found["declined"] = report.declined;
  found["disk"] = report.disk;
  return found;
}

}  // namespace

void bind_compile(py::module_& module) {
  py::register_exception<graph::GraphError>(module, "GraphError", PyExc_ValueError);
  py::register_exception<compile::CompileError>(module, "CompileError", PyExc_RuntimeError);
  module.def("has_compiler", [](DeviceIndex device) { return module_of(device).compiler.has_value(); });
  module.def("compiler_operators", operators_of);
  module.def("describe_compiler", describe_compiler);
  module.def("compilations_under_way", compile::compilations_under_way);
  module.def("set_compile_display", set_compile_display);
  module.def("end_compilations", [] {
    const py::gil_scoped_release no_gil;
    compile::end_compilations(std::chrono::milliseconds(1500));
  });
  py::class_<graph::Graph>(module, "CompilerGraph")
      .def(py::init<>())
      .def(py::init([](const std::string& text) { return graph::from_text(text); }))
      .def("add_symbol", [](graph::Graph& self, int64_t min, int64_t max, int64_t hint,
                            const std::string& text) { return self.add_symbol({min, max, hint, text}); })
      .def("add_input",
           [](graph::Graph& self, at::ScalarType dtype, Extents sizes, Extents strides,
              const std::string& name, bool is_weight) {
             return self.add_input(tensor_type(dtype, std::move(sizes), std::move(strides)), name, is_weight);
           })
      .def("add_constant",
           [](graph::Graph& self, const at::Tensor& tensor, const std::string& name) {
             return self.add_constant(plug_dtype_of(tensor.scalar_type()), tensor.sizes().vec(),
                                      content_of(tensor), name);
           })
      .def("add_node", add_node)
      .def("set_outputs", set_outputs)
      .def("group", group)
      .def("extract", extract)
      .def_property_readonly("node_count", [](const graph::Graph& self) { return self.nodes().size(); })
      .def("__str__", graph::to_text);
  py::class_<EngineGroup, std::shared_ptr<EngineGroup>>(module, "EngineGroup")
      .def(py::init(&make_group), py::arg("device"), py::arg("graph"), py::arg("options"), py::arg("engines"),
           py::arg("in_background"), py::arg("directory"), py::arg("strides"), py::arg("gives_up") = false)
      .def("run", run)
      .def("prepare", prepare)
      .def("report", report_of)
      .def("texts", &EngineGroup::texts)
      .def_property_readonly("graph", &EngineGroup::graph);
}

}  // namespace torchplug::python
