#pragma once
// How PyTorch and the host see memory of the plugin's: an address to calculate with, and a host view where
// the plugin gives one, which it may do for some memory only. Any thread may call anything.

#include "memory/block.h"

namespace torchplug::memory {

// What PyTorch calls the memory: `base`, or, on a device whose memory has no addresses, a range that is
// reserved for it and that nobody may follow.
char* make_address(DeviceIndex device, void* base, size_t bytes);
// Of a block whose address was made by that.
void release_address(const Block& block) noexcept;

// Where the host may reach the memory in stream order, or null.
char* find_host_view(DeviceIndex device, void* base);

}  // namespace torchplug::memory
