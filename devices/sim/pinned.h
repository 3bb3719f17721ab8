#pragma once
// Host memory that copies use in stream order. To a device made of host memory there is nothing to
// pin, so it is ordinary memory on page boundaries; kept in a list so that a wrong free is refused.
// Any thread may call anything.

#include <cstdint>

namespace torchplug::sim {

void* allocate_pinned(std::uint64_t bytes);
void release_pinned(void* base);

}  // namespace torchplug::sim
