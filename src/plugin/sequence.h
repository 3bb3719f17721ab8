#pragma once
// A number for every operator call and every job given to a device, so that a failure found later can say
// what failed. The names behind the latest few thousand operator calls are kept. Any thread may ask; each
// sets a run of numbers aside for itself, so only the numbers of one thread are in order.

#include <cstdint>

#include "base/namespaces.h"

namespace torchplug::plugin {

// Never the same twice, and never zero.
uint64_t next_sequence() noexcept;
// A number for a call of the operator called `name`, whose text lives until the process ends.
uint64_t next_sequence(const char* name) noexcept;
// The latest that the calling thread was given; 0 before the first.
uint64_t latest_sequence() noexcept;

// What next_sequence was told; null if that was nothing or too long ago.
const char* name_of_sequence(uint64_t sequence) noexcept;

}  // namespace torchplug::plugin
