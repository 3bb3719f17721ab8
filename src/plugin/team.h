#pragma once
// Functions of plugins on PyTorch's own threads: behind host->team. A second pool of threads beside PyTorch's
// would wait for the same processors.

#include <cstdint>

#include "base/namespaces.h"

namespace torchplug::plugin {

// As plug.h says of host->team. Any thread.
void run_team(void (*function)(void* argument, int32_t index, int32_t count), void* argument);

// torch.set_num_threads holds for the thread that called it. What a plugin's own thread runs for a kernel
// takes the number of the thread that called the kernel last, which notes it; only where teams are in use.
bool is_team_used() noexcept;
void note_threads() noexcept;

}  // namespace torchplug::plugin
