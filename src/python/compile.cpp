// A plugin's compiler for Python: what it lists, graphs built node by node, groups, and engines that are
// called.

#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <string>
#include <vector>

#include "aten/kernel/call_flags.h"
#include "base/dtype.h"
#include "base/immortal.h"
#include "compile/compilation.h"
#include "compile/compile_error.h"
#include "compile/compiler.h"
#include "compile/engine_group.h"
#include "graph/error.h"
#include "graph/extract.h"
#include "graph/text.h"
#include "python/bindings.h"

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

plug_dtype plug_dtype_of(at::ScalarType type) {
  const auto dtype = to_plug_dtype(type);
  TORCH_CHECK(dtype, "plug.h has no ", c10::toString(type), ".");
  return *dtype;
}

// An argument as torchplug/compile/_graph.py writes it: (kind, content).
Argument argument_of(const py::handle& given) {
  const auto pair = py::cast<py::tuple>(given);
  const auto kind = py::cast<std::string>(pair[0]);
  const py::object content = pair.size() > 1 ? py::object(pair[1]) : py::none();
  if (kind == "none") return {};
  if (kind == "bool") return Argument::boolean(py::cast<bool>(content));
  if (kind == "int") return Argument::integer(py::cast<int64_t>(content));
  if (kind == "float") return Argument::number(py::cast<double>(content));
  if (kind == "complex") {
    const Py_complex number = PyComplex_AsCComplex(content.ptr());
    return Argument::complex(number.real, number.imag);
  }
  if (kind == "str") return Argument::text(py::cast<std::string>(content));
  if (kind == "dtype") return Argument::dtype(plug_dtype_of(py::cast<at::ScalarType>(content)));
  if (kind == "layout") return Argument::layout(py::cast<int64_t>(content));
  if (kind == "format") return Argument::format(py::cast<int64_t>(content));
  if (kind == "device") return Argument::device(py::cast<int64_t>(content));
  if (kind == "generator") return Argument::generator();
  if (kind == "ints") return Argument::ints(py::cast<std::vector<int64_t>>(content));
  if (kind == "floats") return Argument::floats(py::cast<std::vector<double>>(content));
  if (kind == "bools") return Argument::bools(py::cast<std::vector<uint8_t>>(content));
  if (kind == "ref") return Argument::ref(py::cast<int32_t>(content));
  if (kind == "refs") return Argument::refs(py::cast<std::vector<int64_t>>(content));
  if (kind == "symbol") return Argument::symbol(py::cast<int32_t>(content));
  TORCH_CHECK(kind == "list", "There is no argument of the kind '", kind, "'.");
  std::vector<Argument> items;
  for (const py::handle& item : py::cast<py::list>(content)) items.push_back(argument_of(item));
  return Argument::list(std::move(items));
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

// What Python shows while an engine is waited for: torchplug/compile/_progress.py.
py::object& display() {
  static auto& instance = *immortal<py::object>(py::none());
  return instance;
}

// Waits for engines, with the GIL released but for what is shown.
class Wait {
 public:
  void tick() {
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (display().is_none()) return;
    is_shown_ = true;
    display().attr("tick")();
  }

  void end() const {
    if (!is_shown_) return;
    const py::gil_scoped_acquire gil;
    display().attr("end")();
  }

 private:
  bool is_shown_ = false;
};

// work(interruption), without the GIL.
template <class Work>
auto while_waiting(const Work& work) {
  const py::gil_scoped_release no_gil;
  Wait wait;
  try {
    auto result = work([&wait] { wait.tick(); });
    wait.end();
    return result;
  } catch (...) {
    wait.end();
    throw;
  }
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
  module.def("set_compile_display", [](py::object shown) { display() = std::move(shown); });
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
