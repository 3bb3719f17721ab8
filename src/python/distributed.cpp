#include "distributed/ddp_timer.h"
#include "distributed/process_group.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

using HostGroup = c10::intrusive_ptr<c10d::Backend>;

c10::intrusive_ptr<ProcessGroup> make(const HostGroup& host) {
  return c10::make_intrusive<ProcessGroup>(host);
}

}  // namespace

// torch._C has defined the base class by then: `import torch` imports torch.distributed.
void bind_distributed(py::module_& module) {
  py::class_<ProcessGroup, c10d::Backend, c10::intrusive_ptr<ProcessGroup>>(module, "ProcessGroup")
      .def(py::init(&make))
      .def_property_readonly("options", &ProcessGroup::getBackendOptions);
  module.def("register_ddp_timer", &register_ddp_timer);
}

}  // namespace torchplug::python
