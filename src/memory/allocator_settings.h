#pragma once
// How the allocators behave, as users set it: PyTorch's own settings (PYTORCH_ALLOC_CONF,
// torch.accelerator's), over which TORCHPLUG_ALLOC_CONF, with the same keys, prevails. Any thread may ask.

#include <cstddef>
#include <string>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::memory {

struct AllocatorSettings {
  size_t large_segment;  // what a request of 1 to 10 MiB is cut from
  size_t max_split;      // longer blocks are never split
  size_t max_rounding;   // how much too long such a block may be
  double gc_threshold;   // 0: no collection
  bool expandable;
};

AllocatorSettings allocator_settings();

// What a request is rounded up to: a multiple of `unit`, or of a part of a power of two if
// roundup_power2_divisions says so.
size_t rounded_size(size_t bytes, size_t unit);
// Whether it does for some size.
bool rounds_to_divisions();

// Sets them anew, as TORCHPLUG_ALLOC_CONF does. Throws for a key that does not exist.
void set_allocator_settings(const std::string& text);

}  // namespace torchplug::memory
