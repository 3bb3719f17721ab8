#pragma once
// The plugin's copy and fill, in stream order. Any thread may call them.

#include "runtime/stream.h"

namespace torchplug::runtime {

// Host memory that is not pinned has been read or written when this returns.
void copy_memory(const plug_mem& to, const plug_mem& from, uint64_t bytes, const Stream& stream);

// Whether the plugin copies from one device to another without the host.
bool can_access_peer(DeviceIndex from, DeviceIndex to);

// Only for a plugin with mem_fill.
void fill_memory(const plug_mem& to, uint8_t byte, uint64_t bytes, const Stream& stream);

}  // namespace torchplug::runtime
