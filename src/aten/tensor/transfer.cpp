#include "aten/tensor/transfer.h"

#include <ATen/EmptyTensor.h>

#include <algorithm>

#include "aten/tensor/device_tensor.h"
#include "aten/tensor/storage.h"
#include "memory/device_allocator.h"
#include "memory/host_allocator.h"
#include "runtime/capture.h"
#include "runtime/memory_copy.h"

namespace torchplug::aten {
namespace {

// Host memory for a copy: flagged as pinned only if host_alloc returned it, and then its block is not reused
// before the stream has passed; or if the plugin says that another library has pinned it, which the caller
// keeps. A capture holds it. In a capture that torchplug records itself, memory of
// host_allocator() is pinned also for a plugin without host_alloc, which is not told so.
plug_mem host_memory(const void* address, const Stream& stream) {
  const bool has_pinned = plugin_has<&plug_runtime::host_alloc>(stream.device());
  bool pinned = false;
  if (C10_UNLIKELY(is_capturing(stream))) {
    const bool is_emulated = emulates_capture(stream.device());
    pinned = (has_pinned || is_emulated) && is_pinned(address);
  } else {
    pinned = has_pinned && record_pinned_use(address, stream);
  }
  pinned = pinned || is_pinned_by_others(address);
  return {const_cast<void*>(address), 0, PLUG_HOST, pinned ? uint32_t{PLUG_MEM_PINNED} : 0};
}

bool is_used_later(const plug_mem& host) { return (host.flags & PLUG_MEM_PINNED) != 0; }

plug_mem storage_memory(const c10::StorageImpl& storage, uint64_t begin) {
  plug_mem memory = DeviceAllocator::instance().locate(storage).memory();
  memory.offset += begin;
  return memory;
}

}  // namespace

ByteSpan span_of(const at::TensorBase& tensor) {
  const auto itemsize = static_cast<uint64_t>(tensor.itemsize());
  const auto first = static_cast<uint64_t>(tensor.storage_offset());
  if (tensor.numel() == 0) return {first * itemsize, first * itemsize};
  uint64_t last = first;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    last += static_cast<uint64_t>((tensor.size(d) - 1) * tensor.stride(d));
  }
  // A storage holds less than that where several elements share a byte.
  return {first * itemsize,
          std::min<uint64_t>((last + 1) * itemsize, storage_of(*tensor.unsafeGetTensorImpl()).nbytes())};
}

void read_memory(void* host, const plug_mem& memory, uint64_t bytes, const Stream& stream) {
  copy_memory({host, 0, PLUG_HOST, 0}, memory, bytes, stream);
}

bool read_storage(void* host, const c10::StorageImpl& storage, uint64_t begin, uint64_t bytes,
                  const Stream& stream) {
  if (bytes == 0) return false;
  const plug_mem to = host_memory(host, stream);
  copy_memory(to, storage_memory(storage, begin), bytes, stream);
  return is_used_later(to);
}

bool write_storage(const void* host, const c10::StorageImpl& storage, uint64_t begin, uint64_t bytes,
                   const Stream& stream) {
  if (bytes == 0) return false;
  const plug_mem from = host_memory(host, stream);
  copy_memory(storage_memory(storage, begin), from, bytes, stream);
  return is_used_later(from);
}

at::Tensor copy_to_device(const at::Tensor& host, const Stream& stream) {
  at::Tensor copy = empty_on(stream, host.sizes(), host.strides(), host.scalar_type());
  const ByteSpan from = span_of(host);
  write_storage(static_cast<const char*>(host.storage().data()) + from.begin,
                *copy.storage().unsafeGetStorageImpl(), 0, from.bytes(), stream);
  if (host.is_conj()) copy._set_conj(true);
  if (host.is_neg()) copy._set_neg(true);
  return copy;
}

at::Tensor empty_pinned(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype) {
  return at::detail::empty_strided_generic(sizes, strides, &host_allocator(),
                                           c10::DispatchKeySet(c10::DispatchKey::CPU), dtype);
}

}  // namespace torchplug::aten
