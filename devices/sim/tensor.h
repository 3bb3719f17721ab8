#pragma once
// What follows from a tensor's sizes.

#include <cstdint>

#include "torchplug/plug.h"

namespace torchplug::sim {

inline std::uint64_t element_count(const plug_tensor& tensor) {
  std::uint64_t count = 1;
  for (std::int32_t d = 0; d < tensor.ndim; ++d) count *= static_cast<std::uint64_t>(tensor.sizes[d]);
  return count;
}

}  // namespace torchplug::sim
