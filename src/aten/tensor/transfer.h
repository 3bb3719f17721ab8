#pragma once
// Moving bytes between host and device memory, and the bytes a tensor spans in its storage.

#include <ATen/core/Tensor.h>

#include "base/dtype.h"
#include "memory/device_allocator.h"

namespace torchplug::aten {

// Bytes from the start of the storage; empty for a tensor without elements.
struct ByteSpan {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t bytes() const { return end - begin; }
  bool overlaps(const ByteSpan& other) const { return begin < other.end && other.begin < end; }
};

ByteSpan span_of(const at::TensorBase& tensor);

// Where the first element of a device tensor lies.
plug_mem memory_of(const at::TensorBase& tensor);
// The same, of one that has memory.
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

// Reads a few bytes at once, into memory that is certainly not pinned.
void read_memory(void* host, const plug_mem& memory, uint64_t bytes, const Stream& stream);

// Enqueue a copy between host memory and [begin, begin + bytes) of a device storage. Return whether the
// stream may use the host memory later, as only pinned memory of host_allocator() is; other memory the plugin
// has read or written by then.
bool read_storage(void* host, const c10::StorageImpl& storage, uint64_t begin, uint64_t bytes,
                  const Stream& stream);
bool write_storage(const void* host, const c10::StorageImpl& storage, uint64_t begin, uint64_t bytes,
                   const Stream& stream);

// A device tensor like `host` in dtype, sizes and strides, and with its contents.
at::Tensor copy_to_device(const at::Tensor& host, const Stream& stream);

// An uninitialised tensor in pinned host memory, which looks like another.
at::Tensor empty_pinned_like(const at::Tensor& tensor);

// An uninitialised device tensor, with memory from the given stream.
at::Tensor empty_on(const Stream& stream, at::IntArrayRef sizes, at::IntArrayRef strides,
                    at::ScalarType dtype);
}  // namespace torchplug::aten
