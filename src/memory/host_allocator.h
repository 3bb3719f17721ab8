#pragma once
// PyTorch's allocator for pinned host memory: caches blocks by powers of two, and does not reuse one before
// the streams that copy from or to it have passed. The plugin is called without any lock held. A plugin
// without host_alloc gets ordinary memory. Any thread may use it.
//
// It is not built on at::CachingHostAllocatorImpl, which queries the events of all streams in one order, so
// that a stream which is behind holds up the blocks of others; estimates its peaks; finds blocks by their
// first address only; calls the plugin's free with its locks held; and cannot free a block during another
// stream's capture.

#include <ATen/core/CachingHostAllocator.h>

#include "runtime/stream.h"

namespace torchplug::memory {

at::HostAllocator& host_allocator();

// Whether the address lies in memory of host_allocator(), or in memory that the plugin says another library
// has pinned. Opens no device to find out.
bool is_pinned(const void* address);
bool is_pinned_by_others(const void* address);

// If it lies in memory of host_allocator(), its block is not reused before the stream's work so far is done.
// Returns whether it does.
bool record_pinned_use(const void* address, const Stream& stream);

}  // namespace torchplug::memory
