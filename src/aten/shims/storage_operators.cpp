#include "aten/shims/shims.h"

#include <ATen/Context.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/ops/_has_compatible_shallow_copy_type_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/set_native.h>

#include "aten/tensor/arguments.h"
#include "aten/tensor/copy_on_write.h"
#include "aten/tensor/storage.h"
#include "memory/device_allocator.h"

namespace torchplug::aten {

namespace {

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef sizes,
                          std::optional<at::MemoryFormat> memory_format) {
  c10::TensorImpl& resized = *self.unsafeGetTensorImpl();
  const auto bytes_before = static_cast<int64_t>(aten::storage_of(resized).nbytes());
  if (self.sizes() != sizes) {
    resized.set_sizes_contiguous(sizes);
    fit_storage(self);
  }
  if (memory_format.has_value()) {
    TORCH_CHECK(*memory_format != at::MemoryFormat::Preserve, "Unsupported memory format", *memory_format);
    resized.empty_tensor_restride(*memory_format);
  }
  const at::Context& context = at::globalContext();
  if (C10_UNLIKELY(context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())) {
    at::native::fill_resize_deterministic_(self, bytes_before);
  }
  return self;
}

at::Tensor& set_storage(at::Tensor& self, c10::Storage storage, int64_t offset, at::IntArrayRef sizes,
                        at::IntArrayRef strides) {
  at::native::checkSetStorage(self, std::move(storage), offset, sizes, strides);
  c10::TensorImpl& changed = *self.unsafeGetTensorImpl();
  changed.set_storage_offset(offset);
  if (strides.data() == nullptr) {
    changed.set_sizes_contiguous(sizes);
  } else {
    changed.set_sizes_and_strides(sizes, strides);
  }
  fit_storage(self);
  return self;
}

at::Tensor& set_to_nothing(at::Tensor& self) {
  return self.set_(DeviceAllocator::make_storage(c10::DataPtr(nullptr, self.device()), 0, /*resizable=*/true),
                   0, {0}, {});
}

// Lets `parameter.data = parameter.data.to(device)` keep the parameter, as it does for CUDA: a plain
// tensor may change its device in place.
bool has_compatible_type(const at::Tensor& self, const at::Tensor& from) {
  if (self.layout() == at::kStrided && from.layout() == at::kStrided) return true;
  return at::native::_has_compatible_shallow_copy_type(self, from);
}

void record_stream(at::Tensor& self, c10::Stream stream) {
  DeviceAllocator::instance().recordStream(aten::storage_of(*self.unsafeGetTensorImpl()).data_ptr(), stream);
}

}  // namespace

void add_storage_operators(OperatorLibrary& library) {
  library.impl("resize_", TORCH_FN(resize_));
  library.impl("set_", TORCH_FN(set_to_nothing));
  library.impl("set_.source_Storage", TORCH_FN(at::native::set_));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage));
  library.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  library.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_type));
  library.impl("record_stream", TORCH_FN(record_stream));
  library.impl("_lazy_clone", TORCH_FN(lazy_clone));
}

}  // namespace torchplug::aten
