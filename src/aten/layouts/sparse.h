#pragma once
// Sparse tensors of the device: index and value tensors on the device, in the shell PyTorch gives
// every sparse tensor. What only looks at the shell is PyTorch's own code; every other operator is the
// CPU's, on copies of the whole.

#include "base/namespaces.h"

namespace torchplug::aten {

void register_sparse_operators();

}  // namespace torchplug::aten
