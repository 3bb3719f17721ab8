#pragma once
// Which block an address lies in, among all blocks of all devices, whoever made them. Blocks do not overlap.
// Any thread may ask.

#include "runtime/device_allocator.h"

namespace torchplug {

void add_to_address_index(const Block& block);
void remove_from_address_index(const Block& block);

// Null if the address is no block's.
const Block* find_block(const void* address);

}  // namespace torchplug
