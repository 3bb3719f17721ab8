#pragma once
// The operators this device computes itself, for float32 and float64. Their results are those of
// PyTorch's CPU kernels bit for bit, except that of two NaN inputs either may be the one returned.
// All other operators, and calls of these that PyTorch's threads do faster, run on the CPU through host_view.
// Any thread may call a kernel.

#include "torchplug/plug.h"

namespace torchplug::sim {

extern const plug_kernels kKernels;

}  // namespace torchplug::sim
