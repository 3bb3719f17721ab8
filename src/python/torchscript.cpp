// Groups of TorchScript's operators for Python.

#include <torch/csrc/utils/pybind.h>

#include <string>
#include <vector>

#include "python/bindings.h"
#include "python/waiting.h"
#include "pytorch/torchscript_library.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

void enable(bool offload, size_t engines, int64_t min_nodes, std::vector<std::string> options,
            bool gives_up) {
  torchscript::Settings settings{offload, engines, min_nodes, std::move(options), gives_up};
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
             py::arg("options"), py::arg("gives_up"), py::call_guard<py::gil_scoped_release>());
  module.def("torchscript_disable", &disable, py::call_guard<py::gil_scoped_release>());
  module.def("torchscript_is_enabled", &is_enabled);
  module.def("torchscript_report", &report);
  module.def(
      "torchscript_register_backend", [] { pytorch::torchscript_library().register_backend(); },
      py::call_guard<py::gil_scoped_release>());
}

}  // namespace torchplug::python
