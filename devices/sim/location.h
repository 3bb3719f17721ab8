#pragma once
// Where a plug_mem lies, as an address this process can use: the open view of device memory, whether
// this process allocated or imported it, or host memory itself. A value; valid for as long as the memory is.

#include <cstddef>
#include <cstdint>

#include "torchplug/plug.h"

namespace torchplug::sim {

struct Location {
  std::byte* address;
  bool pageable;  // host memory that is good only until the current call returns
};

// `bytes` bytes from `first` bytes past the place that `mem` names; `first` may be negative.
// Fails for memory that is not where it says, or that has flags unknown to this plugin.
Location locate(const plug_mem& mem, std::uint64_t bytes, std::int64_t first = 0);

}  // namespace torchplug::sim
