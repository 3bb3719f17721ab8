#pragma once
// Which block an address lies in, among all blocks of all devices: segments of the allocators, which do not
// overlap, and foreign memory (PLUG_MEM_FOREIGN), which may, and then any of them serves.
// Any thread may call anything.

#include "memory/block.h"

namespace torchplug::memory {

void add_to_address_index(Block& block);
void remove_from_address_index(const Block& block);

// Null if the address is in no block.
Block* find_block(const void* address);

// Whether a block is out of the host's reach though the plugin gives host views. If none is, operators need
// not look at each of their arguments.
bool any_block_lacks_host_view() noexcept;

}  // namespace torchplug::memory
