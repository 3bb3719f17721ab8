#pragma once
// Moving bytes between host and device memory, and the bytes a tensor spans in its storage.

#include <ATen/core/Tensor.h>

#include "runtime/device_allocator.h"

namespace torchplug {

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

// A tensor of the device, or a single number on the host, in plug.h's terms. Borrows its sizes and strides.
plug_tensor describe(const at::TensorBase& tensor);

// Enqueue a copy between host memory and [begin, begin + bytes) of a device storage. Host memory that
// is not pinned has been read or written when the function returns.
void read_storage(void* host, const c10::StorageImpl& storage, uint64_t begin, uint64_t bytes,
                  const Stream& stream);
void write_storage(const void* host, const c10::StorageImpl& storage, uint64_t begin, uint64_t bytes,
                   const Stream& stream);

// A device tensor like `host` in dtype, sizes and strides, and with its contents.
at::Tensor copy_to_device(const at::Tensor& host, const Stream& stream);

// An uninitialised device tensor, with memory from the given stream.
at::Tensor empty_on(const Stream& stream, at::IntArrayRef sizes, at::IntArrayRef strides,
                    at::ScalarType dtype);

}  // namespace torchplug
