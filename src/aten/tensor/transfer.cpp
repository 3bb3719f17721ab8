#include "aten/tensor/transfer.h"

#include <ATen/EmptyTensor.h>

#include <algorithm>

#include "aten/tensor/device_tensor.h"
#include "memory/device_allocator.h"
#include "memory/host_allocator.h"
#include "runtime/capture.h"
#include "runtime/memory_copy.h"

namespace torchplug::aten {
namespace {

// In a capture that torchplug records itself, memory of its own is pinned also for a plugin without
// host_alloc, which is not told so.
plug_mem host_memory(void* address, const Stream& stream) {
  const bool may_be =
      plugin_has<&plug_runtime::host_alloc>(stream.device()) ||
      (any_capture() && module_of(stream.device()).emulated_capture != nullptr && is_capturing(stream));
  const uint32_t flags = may_be && is_pinned(address) ? PLUG_MEM_PINNED : 0;
  return {address, 0, PLUG_HOST, flags};
}

// Copies between the two, one of which is the host's. Pinned memory must not be used again before the stream
// has passed; a capture holds it.
bool copy_host_memory(const plug_mem& to, const plug_mem& from, uint64_t bytes, const Stream& stream) {
  copy_memory(to, from, bytes, stream);
  const plug_mem& host = to.device == PLUG_HOST ? to : from;
  const bool is_pinned = (host.flags & PLUG_MEM_PINNED) != 0;
  if (is_pinned && !is_capturing(stream)) record_pinned_use(host.base, stream.unwrap());
  return is_pinned;
}

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
  return {first * itemsize, std::min<uint64_t>((last + 1) * itemsize, tensor.storage().nbytes())};
}

void read_memory(void* host, const plug_mem& memory, uint64_t bytes, const Stream& stream) {
  copy_memory({host, 0, PLUG_HOST, 0}, memory, bytes, stream);
}

bool read_storage(void* host, const c10::StorageImpl& storage, uint64_t begin, uint64_t bytes,
                  const Stream& stream) {
  if (bytes == 0) return false;
  return copy_host_memory(host_memory(host, stream), storage_memory(storage, begin), bytes, stream);
}

bool write_storage(const void* host, const c10::StorageImpl& storage, uint64_t begin, uint64_t bytes,
                   const Stream& stream) {
  if (bytes == 0) return false;
  return copy_host_memory(storage_memory(storage, begin), host_memory(const_cast<void*>(host), stream), bytes,
                          stream);
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

at::Tensor empty_pinned_like(const at::Tensor& tensor) {
  return at::detail::empty_strided_generic(tensor.sizes(), tensor.strides(), &host_allocator(),
                                           c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.scalar_type());
}

}  // namespace torchplug::aten
