#include <ATen/ops/_has_compatible_shallow_copy_type_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>

#include "aten/arguments.h"
#include "aten/shims.h"
#include "runtime/device_allocator.h"

namespace torchplug {
namespace {

at::Tensor& set_to_nothing(at::Tensor& self) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, self.device()),
                       &DeviceAllocator::instance(), /*resizable=*/true);
  return self.set_(std::move(storage), 0, {0}, {});
}

// Lets `parameter.data = parameter.data.to(device)` keep the parameter, as it does for CUDA: a plain
// tensor may change its device in place.
bool has_compatible_type(const at::Tensor& self, const at::Tensor& from) {
  if (self.layout() == at::kStrided && from.layout() == at::kStrided) return true;
  return at::native::_has_compatible_shallow_copy_type(self, from);
}

void record_stream(at::Tensor& self, c10::Stream stream) {
  DeviceAllocator::instance().recordStream(self.storage().data_ptr(), stream);
}

}  // namespace

void add_storage_operators(torch::Library& library) {
  library.impl("resize_", TORCH_FN(at::native::resize_));
  library.impl("set_", TORCH_FN(set_to_nothing));
  library.impl("set_.source_Storage", TORCH_FN(at::native::set_));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(at::native::set_storage_cpu_));
  library.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  library.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_type));
  library.impl("record_stream", TORCH_FN(record_stream));
}

}  // namespace torchplug
