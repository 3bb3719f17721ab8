#pragma once
// Moving bytes between host and device memory, and the bytes a tensor spans in its storage.

#include <ATen/core/Tensor.h>

#include "runtime/stream.h"

namespace torchplug::aten {

// Bytes from the start of the storage; empty for a tensor without elements.
struct ByteSpan {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t bytes() const { return end - begin; }
  bool overlaps(const ByteSpan& other) const { return begin < other.end && other.begin < end; }
};

ByteSpan span_of(const at::TensorBase& tensor);

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

// From here on memory of host_allocator() is worth its bookkeeping: a device reads and writes it by itself,
// if the plugin has host_alloc, and it is there already, where the system clears new memory page by page.
inline constexpr size_t kPinnedFrom = size_t{64} << 10;

// An uninitialised CPU tensor in memory of host_allocator().
at::Tensor empty_pinned(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype);

}  // namespace torchplug::aten
