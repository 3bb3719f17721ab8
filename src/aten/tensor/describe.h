#pragma once
// Tensors in plug.h's terms: where they lie, and what they look like.

#include <ATen/core/Tensor.h>

#include "base/dtype.h"
#include "memory/device_allocator.h"

namespace torchplug::aten {

// Where the first element of a device tensor lies.
plug_mem memory_of(const at::TensorBase& tensor);
// Where the first element lies of a device tensor that has memory.
inline plug_mem memory_of(const c10::TensorImpl& tensor, const c10::StorageImpl& storage) {
  plug_mem memory = DeviceAllocator::instance().locate(storage).memory();
  const int64_t offset = tensor.storage_offset();
  if (offset != 0) memory.offset += static_cast<uint64_t>(offset) * tensor.itemsize();
  return memory;
}

// A tensor of the device, or a single number on the host, in plug.h's terms. Borrows its sizes and strides.
void describe(const c10::TensorImpl& tensor, plug_tensor& described);
inline plug_tensor describe(const at::TensorBase& tensor) {
  plug_tensor described;
  describe(*tensor.unsafeGetTensorImpl(), described);
  return described;
}

}  // namespace torchplug::aten
