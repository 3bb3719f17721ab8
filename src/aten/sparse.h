#pragma once
// Sparse tensors of the device: index and value tensors on the device, in the shell PyTorch gives
// every sparse tensor. What only looks at the shell is PyTorch's own code; every other operator is the
// CPU's, on CPU copies of the parts.

#include <ATen/core/Tensor.h>

#include "runtime/device.h"

namespace torchplug {

// A CPU tensor of any layout, moved to the device as a whole.
at::Tensor move_to_device(const at::Tensor& host, DeviceIndex device);

void register_sparse_operators();

}  // namespace torchplug
