#pragma once
// PyTorch's allocator for pinned host memory: caches blocks by powers of two, and keeps one back until the
// streams that copy from or to it have passed. The plugin is called without any lock held. A plugin without
// host_alloc gets ordinary memory. Any thread may use it.

#include <ATen/core/CachingHostAllocator.h>

#include "base/namespaces.h"

namespace torchplug::memory {

at::HostAllocator& host_allocator();

// Whether the address lies in memory host_allocator() gave out.
bool is_pinned(const void* address);

// Keeps the pinned block at `address` from being given out again before the stream's work so far is
// done. Does nothing for other memory.
void record_pinned_use(const void* address, const c10::Stream& stream);

}  // namespace torchplug::memory
