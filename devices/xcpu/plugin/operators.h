#pragma once
// The kernels of the plugin: its own operators, which docs/xcpu.md describes, and those of PyTorch's for its
// device.

#include "torchplug/plug.h"

namespace xcpu::plugin {

extern const plug_kernels kKernels;

}  // namespace xcpu::plugin
