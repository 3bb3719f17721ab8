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
  memory.offset += static_cast<uint64_t>(tensor.storage_offset()) * tensor.itemsize();
  return memory;
}

// A tensor of the device, or a single number on the host, in plug.h's terms. Borrows its sizes and strides.
inline plug_tensor describe(const at::TensorBase& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  plug_tensor described;
  const c10::StorageImpl& storage = *impl.unsafe_storage().unsafeGetStorageImpl();
  if (C10_UNLIKELY(impl.device_type() != kDeviceType)) {
    described.mem = {const_cast<void*>(tensor.const_data_ptr()), 0, PLUG_HOST, 0};
  } else {
    described.mem = storage.data() == nullptr ? memory_of(tensor) : memory_of(impl, storage);
  }
  described.dtype = to_plug_dtype(c10::typeMetaToScalarType(impl.dtype())).value_or(0);
  const c10::IntArrayRef sizes = impl.sizes();
  described.ndim = static_cast<int32_t>(sizes.size());
  described.sizes = sizes.data();
  described.strides = impl.strides().data();
  const c10::DispatchKeySet keys = impl.key_set();
  described.flags = (keys.has(c10::DispatchKey::Conjugate) ? uint32_t{PLUG_TENSOR_CONJ} : 0) |
                    (keys.has(c10::DispatchKey::Negative) ? uint32_t{PLUG_TENSOR_NEG} : 0);
  described.layout = 0;
  described.extra = nullptr;
  return described;
}

}  // namespace torchplug::aten
