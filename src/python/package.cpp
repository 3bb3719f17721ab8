// Packages of compiled programs for Python: what writes them, and what is loaded.

#include "package/package.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/version.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "compile/engine_group.h"
#include "graph/text.h"
#include "graph/title.h"
#include "python/argument.h"
#include "python/bindings.h"
#include "python/waiting.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

using compile::EngineGroup;
using package::Contents;
using package::Expression;
using package::Program;
using package::Step;
using package::StepKind;

// As torchplug/package/_expressions.py writes it: (operation, number) one after another.
Expression expression_of(const py::handle& given) {
  std::vector<package::Term> terms;
  for (const py::handle& item : py::cast<py::list>(given)) {
    const auto pair = py::cast<py::tuple>(item);
    const auto operation = Expression::operation_named(py::cast<std::string>(pair[0]));
    const bool is_float = operation == package::Operation::kFloat;
    terms.push_back({operation, is_float ? std::bit_cast<int64_t>(py::cast<double>(pair[1]))
                                         : py::cast<int64_t>(pair[1])});
  }
  return Expression(std::move(terms));
}

std::vector<graph::Argument> arguments_of(const py::list& given) {
  std::vector<graph::Argument> arguments;
  for (const py::handle& argument : given) arguments.push_back(argument_of(argument));
  return arguments;
}

// ---- a program that is written step by step ----

int32_t add_expression(Program& program, const py::list& terms) {
  program.expressions.push_back(expression_of(terms));
  return static_cast<int32_t>(program.expressions.size() - 1);
}

std::vector<int32_t> add_registers(Program& program, int32_t count) {
  std::vector<int32_t> added(static_cast<size_t>(count));
  std::iota(added.begin(), added.end(), program.registers);
  program.registers += count;
  return added;
}

int32_t callee_of(Program& program, package::Callee callee) {
  for (size_t i = 0; i < program.callees.size(); ++i) {
    const package::Callee& known = program.callees[i];
    if (known.name == callee.name && known.arguments == callee.arguments) return static_cast<int32_t>(i);
  }
  program.callees.push_back(std::move(callee));
  return static_cast<int32_t>(program.callees.size() - 1);
}

std::vector<int32_t> add_step(Program& program, StepKind kind, int32_t target, const py::list& args,
                              int32_t results, const std::string& source) {
  Step step{kind, target, arguments_of(args), add_registers(program, results), source};
  program.steps.push_back(std::move(step));
  return program.steps.back().results;
}

std::vector<int32_t> add_call(Program& program, const std::string& name, std::vector<std::string> names,
                              const py::list& args, int32_t results, const std::string& source) {
  const int32_t callee = callee_of(program, {name, std::move(names)});
  return add_step(program, StepKind::kOperator, callee, args, results, source);
}

void bind_program(py::module_& module) {
  py::class_<Program>(module, "PackageProgram")
      .def(py::init([](int32_t given, int32_t symbols) {
        Program program;
        program.given = program.registers = given;
        program.symbols = symbols;
        return program;
      }))
      .def("expression", add_expression)
      .def("call", add_call)
      .def("engine",
           [](Program& self, int32_t group, const py::list& args, int32_t results) {
             return add_step(self, StepKind::kEngine, group, args, results, "");
           })
      .def("item", [](Program& self, const py::list& list,
                      int32_t place) { return add_step(self, StepKind::kItem, place, list, 1, "").front(); })
      .def("size", [](Program& self, const py::list& tensor,
                      int32_t dimension) { add_step(self, StepKind::kSize, dimension, tensor, 0, ""); })
      .def("value",
           [](Program& self, const py::list& value) { add_step(self, StepKind::kValue, 0, value, 0, ""); })
      .def("set_results",
           [](Program& self, const py::list& results) { self.results = arguments_of(results); });
}

// ---- what is written ----

using SizeText = std::pair<py::list, std::string>;
using StridesOfOutputs = std::vector<std::optional<std::vector<int64_t>>>;

class Writer {
 public:
  Writer(DeviceIndex device, const std::string& version) {
    const compile::Compiler* compiler = compile::Compiler::of(device);
    TORCH_CHECK(compiler != nullptr, "The device has no compiler, so there is nothing to package.");
    contents_.origin = {version, TORCH_VERSION,
                        graph::say(compiler->module().name, " ", compiler->module().version),
                        compiler->saves() ? compiler->identity() : ""};
    saves_ = compiler->saves();
  }

  void set_structure(std::string text) { contents_.structure = std::move(text); }

  void add_symbol(std::string name, int64_t min, int64_t max, int32_t input, int32_t dimension, int64_t scale,
                  int64_t shift) {
    contents_.symbols.push_back({std::move(name), min, max, input, dimension, scale, shift});
  }

  void add_tensor(std::string name, at::ScalarType dtype, const std::vector<SizeText>& sizes,
                  const std::vector<py::list>& strides, bool is_written) {
    package::Input input{.name = std::move(name), .dtype = plug_dtype_of(dtype), .is_written = is_written};
    for (const auto& [terms, text] : sizes) input.sizes.push_back({expression_of(terms), text});
    for (const py::list& terms : strides) input.strides.push_back(expression_of(terms));
    contents_.inputs.push_back(std::move(input));
  }

  void add_number(std::string name, const SizeText& number) {
    package::Input input{.name = std::move(name), .is_tensor = false};
    input.sizes.push_back({expression_of(number.first), number.second});
    contents_.inputs.push_back(std::move(input));
  }

  void add_condition(const py::list& terms, std::string text) {
    contents_.conditions.push_back({expression_of(terms), std::move(text)});
  }

  // Bytes on the host.
  int32_t add_storage(at::Tensor bytes) {
    TORCH_CHECK(bytes.is_cpu() && bytes.scalar_type() == at::kByte && bytes.is_contiguous(),
                "Expected bytes.");
    storages_.push_back(std::move(bytes));
    return contents_.storages++;
  }

  void add_weight(std::string name, int32_t storage, at::ScalarType dtype, int64_t offset,
                  std::vector<int64_t> sizes, std::vector<int64_t> strides, bool is_written,
                  bool is_on_host) {
    contents_.weights.push_back({std::move(name), storage, plug_dtype_of(dtype), offset, std::move(sizes),
                                 std::move(strides), is_written, is_on_host});
  }

  int32_t add_group(const EngineGroup& group, StridesOfOutputs strides, std::vector<std::string> options,
                    Program steps) {
    contents_.groups.push_back(
        {to_text(group.graph()), std::move(strides), std::move(options), std::move(steps)});
    return static_cast<int32_t>(contents_.groups.size() - 1);
  }

  // Compiles it if need be. How many bytes it has, and why it was declined; None if the plugin does not save
  // it.
  py::object add_engine(int32_t group, EngineGroup& engines, const std::vector<int64_t>& numbers) {
    if (!saves_) {
      while_waiting([&](const auto& interruption) { return engines.prepare(numbers, interruption); });
      return py::none();
    }
    EngineGroup::Saved saved =
        while_waiting([&](const auto& interruption) { return engines.save(numbers, interruption); });
    const auto bytes = saved.kept.bytes.size();
    const bool is_there = saved.kept.declined.empty();
    if (is_there && saved.kept.bytes.empty()) return py::none();
    contents_.made.push_back({group, saved.key, is_there ? contents_.engines++ : -1, saved.kept.declined});
    if (is_there) engines_.push_back(std::move(saved.kept.bytes));
    return py::make_tuple(bytes, saved.kept.declined);
  }

  void add_output(std::string name, int32_t input) { contents_.outputs.push_back({std::move(name), input}); }
  void set_program(Program program) { contents_.program = std::move(program); }

  void write(const std::string& path) const {
    const py::gil_scoped_release no_gil;
    std::vector<package::Bytes> storages;
    storages.reserve(storages_.size());
    for (const at::Tensor& bytes : storages_)
      storages.emplace_back(static_cast<const std::byte*>(bytes.const_data_ptr()), bytes.nbytes());
    package::write_package(path, package::to_bytes(contents_), storages, engines_);
  }

 private:
  Contents contents_;
  std::vector<at::Tensor> storages_;
  std::vector<std::string> engines_;
  bool saves_ = false;
};

void bind_writer(py::module_& module) {
  py::class_<Writer>(module, "PackageWriter")
      .def(py::init<DeviceIndex, const std::string&>())
      .def("set_structure", &Writer::set_structure)
      .def("add_symbol", &Writer::add_symbol)
      .def("add_tensor", &Writer::add_tensor)
      .def("add_number", &Writer::add_number)
      .def("add_condition", &Writer::add_condition)
      .def("add_storage", &Writer::add_storage)
      .def("add_weight", &Writer::add_weight)
      .def("add_group", &Writer::add_group)
      .def("add_engine", &Writer::add_engine)
      .def("add_output", &Writer::add_output)
      .def("set_program", &Writer::set_program)
      .def("write", &Writer::write);
}

// ---- what is loaded ----

c10::IValue value_of(const py::handle& given) {
  if (THPVariable_Check(given.ptr())) return THPVariable_Unpack(given.ptr());
  if (given.is_none()) return {};
  return py::cast<int64_t>(given);
}

py::object object_of(const c10::IValue& value) {
  if (value.isTensor()) return py::reinterpret_steal<py::object>(THPVariable_Wrap(value.toTensor()));
  if (value.isBool()) return py::bool_(value.toBool());
  if (value.isInt()) return py::int_(value.toInt());
  if (value.isDouble()) return py::float_(value.toDouble());
  if (value.isString()) return py::str(value.toStringRef());
  return py::none();
}

py::list run_package(package::Package& loaded, const py::list& given) {
  std::vector<c10::IValue> inputs;
  for (const py::handle& one : given) inputs.push_back(value_of(one));
  const std::vector<c10::IValue> results =
      while_waiting([&](const auto& interruption) { return loaded.run(inputs, interruption); });
  py::list outputs;
  for (const c10::IValue& result : results) outputs.append(object_of(result));
  return outputs;
}

py::list groups_of(const package::Package& loaded) {
  py::list groups;
  for (const auto& group : loaded.groups()) {
    const auto report = group->report();
    py::dict found;
    found["title"] = title_of(group->graph());
    found["nodes"] = group->graph().nodes().size();
    found["why_without"] = group->why_without();
    if (report) {
      found["engines"] = report->engines;
      found["compiled"] = report->compiled;
      found["loaded"] = report->loaded;
      found["seconds"] = report->seconds;
      found["runs"] = report->runs;
      found["runs_without"] = report->runs_without;
      found["declined"] = report->declined;
      found["disk"] = report->disk;
    }
    groups.append(found);
  }
  return groups;
}

py::dict origin_of(const package::Package& loaded) {
  const package::Origin& origin = loaded.contents().origin;
  py::dict found;
  found["torchplug"] = origin.torchplug;
  found["torch"] = origin.torch;
  found["plugin"] = origin.plugin;
  found["identity"] = origin.identity;
  return found;
}

void bind_loaded(py::module_& module) {
  // Its engines may have to be waited for.
  const py::release_gil_before_calling_cpp_dtor waits_without_gil;
  py::class_<package::Package>(module, "Package", waits_without_gil)
      .def(py::init([](const std::string& path, int device) {
             return std::make_unique<package::Package>(path, to_index(device));
           }),
           py::call_guard<py::gil_scoped_release>())
      .def("run", run_package)
      .def_property_readonly("structure",
                             [](const package::Package& self) { return self.contents().structure; })
      .def_property_readonly("inputs",
                             [](const package::Package& self) { return names_of(self.contents().inputs); })
      .def_property_readonly("outputs",
                             [](const package::Package& self) { return names_of(self.contents().outputs); })
      .def_property_readonly("weights",
                             [](const package::Package& self) {
                               return std::pair(names_of(self.contents().weights), self.weights());
                             })
      .def_property_readonly("groups", groups_of)
      .def_property_readonly("origin", origin_of)
      .def_property_readonly("why_anew", &package::Package::why_anew);
}

}  // namespace

void bind_package(py::module_& module) {
  bind_program(module);
  bind_writer(module);
  bind_loaded(module);
}

}  // namespace torchplug::python
