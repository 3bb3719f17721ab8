#pragma once
// Graph as torch.accelerator.Graph knows it.

#include "base/namespaces.h"

namespace torchplug::capture {

// Enters the device's graphs in PyTorch's registry, where this PyTorch has one. Call when the device has its
// name, under which they are found.
void register_accelerator_graph();

}  // namespace torchplug::capture
