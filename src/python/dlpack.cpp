#include <ATen/dlpack.h>

#include <string_view>

#include "python/bindings.h"
#include "runtime/device.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

// The place in a capsule that nobody has taken yet; null if it is none.
DLDevice* device_in(const py::handle& object) {
  if (PyCapsule_CheckExact(object.ptr()) == 0) return nullptr;
  const char* name = PyCapsule_GetName(object.ptr());
  if (name == nullptr) return nullptr;
  void* held = PyCapsule_GetPointer(object.ptr(), name);
  const std::string_view kind(name);
  if (kind == "dltensor") return &static_cast<DLManagedTensor*>(held)->dl_tensor.device;
  if (kind == "dltensor_versioned") return &static_cast<DLManagedTensorVersioned*>(held)->dl_tensor.device;
  return nullptr;
}

// PyTorch has one name for all devices from outside. A plugin may know what DLPack calls the memory of its
// own.
int type_of(int device) {
  if (device < 0 || device >= device_count()) return kDLExtDev;
  const int type = device_info(to_index(device)).dlpack_type;
  return type == 0 ? static_cast<int>(kDLExtDev) : type;
}

// Gives a capsule of PyTorch's the plugin's name of the device.
void name_device(const py::handle& capsule) {
  DLDevice* device = device_in(capsule);
  if (device == nullptr || device->device_type != kDLExtDev) return;
  device->device_type = static_cast<DLDeviceType>(type_of(device->device_id));
}

// The other way round, so that PyTorch takes it.
void unname_device(const py::handle& capsule) {
  DLDevice* device = device_in(capsule);
  if (device == nullptr || device->device_type == kDLCPU) return;
  if (device->device_type == type_of(device->device_id)) device->device_type = kDLExtDev;
}

}  // namespace

void bind_dlpack(py::module_& module) {
  module.def("dlpack_type", &type_of);
  module.def("name_dlpack_device", &name_device);
  module.def("unname_dlpack_device", &unname_device);
}

}  // namespace torchplug::python
