// Groups of TorchScript's operators for Python.

#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/immortal.h"
#include "python/bindings.h"
#include "python/waiting.h"
#include "pytorch/torchscript_library.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

// Kept as long as the process: other threads may let go of it last.
std::shared_ptr<const torchscript::Decompositions> decompositions_of(std::set<std::string> names,
                                                                     const py::object& run) {
  auto* const kept = immortal<py::object>(run);
  const auto call = [kept](const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
    const py::gil_scoped_acquire gil;
    const c10::FunctionSchema& schema = op.schema();
    py::list given;
    for (const c10::IValue& argument : arguments) given.append(torch::jit::toPyObject(argument));
    const py::object results = (*kept)(schema.name(), schema.overload_name(), given);
    std::vector<c10::IValue> values;
    for (const py::handle& result : results) values.emplace_back(result.cast<at::Tensor>());
    return values;
  };
  return std::make_shared<const torchscript::Decompositions>(
      torchscript::Decompositions{std::move(names), call});
}

void enable(bool offload, size_t engines, int64_t min_nodes, std::vector<std::string> options, bool gives_up,
            std::set<std::string> decomposed, const py::object& decompose) {
  torchscript::Settings settings{offload, engines, min_nodes, std::move(options), gives_up};
  settings.decompositions = decompositions_of(std::move(decomposed), decompose);
  const py::gil_scoped_release no_gil;
  settings.interruption = [] {
    if (Py_IsInitialized() != 0) Wait().tick();
  };
  pytorch::torchscript_library().enable(settings);
}

void disable() {
  if (const auto* library = pytorch::loaded_torchscript_library()) library->disable();
}

bool is_enabled() {
  const auto* library = pytorch::loaded_torchscript_library();
  return library != nullptr && library->is_enabled();
}

py::list report() {
  py::list groups;
  const auto* library = pytorch::loaded_torchscript_library();
  if (library == nullptr) return groups;
  for (const torchscript::GroupFacts& facts : library->report()) {
    py::dict group;
    group["operators"] = facts.operators;
    group["programs"] = facts.programs;
    group["calls"] = facts.calls;
    group["interpreted"] = facts.interpreted;
    group["engine_runs"] = facts.engine_runs;
    group["compiled"] = facts.compiled;
    group["loaded"] = facts.loaded;
    group["why"] = facts.why;
    groups.append(group);
  }
  return groups;
}

}  // namespace

void bind_torchscript(py::module_& module) {
  module.def("torchscript_enable", &enable, py::arg("offload"), py::arg("engines"), py::arg("min_nodes"),
             py::arg("options"), py::arg("gives_up"), py::arg("decomposed"), py::arg("decompose"));
  module.def("torchscript_disable", &disable, py::call_guard<py::gil_scoped_release>());
  module.def("torchscript_is_enabled", &is_enabled);
  module.def("torchscript_report", &report);
  module.def(
      "torchscript_register_backend", [] { pytorch::torchscript_library().register_backend(); },
      py::call_guard<py::gil_scoped_release>());
}

}  // namespace torchplug::python
