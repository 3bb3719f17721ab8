#pragma once
// Device memory that the allocator did not allocate: another library's, or another process's.
// It belongs to the DataPtr. When that is destroyed, and the streams that used the memory have passed,
// `release` is called: at once if they have, otherwise on a thread of its own, since whoever drops a tensor
// must not wait. The streams are the one that was current when the memory was imported, those of
// record_stream, and the one that is current when the DataPtr is destroyed.
// Any thread may call anything.

#include <functional>

#include "memory/device_allocator.h"

namespace torchplug::memory {

// `bytes` bytes at base + offset; `base` is what the plugin knows the memory by. `release` may be empty.
c10::DataPtr import_memory(DeviceIndex device, void* base, uint64_t offset, uint64_t bytes,
                           std::function<void()> release);

// The same for an address that may also lie in memory that is known already, as one of a tensor's does.
c10::DataPtr import_address(DeviceIndex device, void* address, uint64_t bytes, std::function<void()> release);

// Lets operators use a storage that PyTorch made over memory it was given, as DLPack's is. Does nothing if
// they can already. Only for a storage that nobody else uses yet.
void adopt_storage(const c10::Storage& storage);

// The block of a DataPtr that one of the functions above made; null for any other.
Block* foreign_block(const c10::DataPtr& data) noexcept;

// Waits until everything that was dropped so far has been released. Does nothing in a forked child.
void finish_releases();

}  // namespace torchplug::memory
