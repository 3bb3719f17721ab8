#pragma once
// The plugin's copy, in stream order. Any thread may call it.

#include "runtime/stream.h"

namespace torchplug {

// Host memory that is not pinned has been read or written when this returns.
void copy_memory(const plug_mem& to, const plug_mem& from, uint64_t bytes, const Stream& stream);

}  // namespace torchplug
