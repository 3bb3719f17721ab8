#pragma once
// Which block an address lies in, among all blocks of all devices, whoever made them. Blocks of the
// allocator do not overlap; those of foreign memory may, and then any of them serves.
// Any thread may ask.

#include "memory/device_allocator.h"

namespace torchplug::memory {

void add_to_address_index(Block& block);
void remove_from_address_index(const Block& block);

// The same for a block with PLUG_MEM_FOREIGN.
void add_foreign_to_address_index(Block& block);
void remove_foreign_from_address_index(const Block& block);

// Null if the address is no block's.
Block* find_block(const void* address);

}  // namespace torchplug::memory
