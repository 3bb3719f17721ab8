#include <torch/csrc/Exceptions.h>

#include <typeinfo>

#include "python/bindings.h"
#include "runtime/deferred_warnings.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

// Most of PyTorch's Python functions collect warnings and issue them when they return.
bool are_warnings_collected() {
  const c10::WarningHandler& handler = *c10::WarningUtils::get_warning_handler();
  return typeid(handler) != typeid(c10::WarningHandler);
}

void warn_all(const Warnings& warnings) {
  for (const c10::Warning& warning : warnings) c10::warn(warning);
}

// The others, torch.accelerator.synchronize() among them, would have them printed past Python's filters.
void issue_through_python(const Warnings& warnings) {
  if (are_warnings_collected() || Py_IsInitialized() == 0) {
    warn_all(warnings);
    return;
  }
  const py::gil_scoped_acquire gil;
  try {
    const torch::PyWarningHandler handler;
    warn_all(warnings);
  } catch (python_error& error) {  // a filter made it an exception
    error.restore();
    throw py::error_already_set();
  }
}

}  // namespace

void bind_warnings(py::module_& /*module*/) { set_warning_issuer(&issue_through_python); }

}  // namespace torchplug::python
