#include "distributed/process_group.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace torchplug {
namespace {

using BackendPtr = c10::intrusive_ptr<c10d::Backend>;

BackendPtr wrap_process_group(const BackendPtr& host) { return c10::make_intrusive<ProcessGroup>(host); }

}  // namespace

void bind_distributed(py::module_& module) { module.def("wrap_process_group", &wrap_process_group); }

}  // namespace torchplug
