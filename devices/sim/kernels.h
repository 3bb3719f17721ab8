#pragma once
// The operators this device computes itself; all others, and calls that these kernels decline, run on the CPU
// through host_view. A kernel is not slower than that at any size. Any thread may call a kernel.

#include "torchplug/plug.h"

namespace torchplug::sim {

extern const plug_kernels kKernels;
extern const plug_kernels kKernelsAndAny;  // with a kernel for any operator

}  // namespace torchplug::sim
