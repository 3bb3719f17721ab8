#pragma once
// The operators this device computes itself; all others, and calls that these kernels decline, run on the CPU
// through host_view. A kernel is not slower than that at any size. Any thread may call a kernel.

#include "options.h"
#include "torchplug/plug.h"

namespace torchplug::sim {

// Once, by the entry point.
plug_kernels make_kernels(const Options& options);

}  // namespace torchplug::sim
