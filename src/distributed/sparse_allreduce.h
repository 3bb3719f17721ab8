#pragma once
// all_reduce of sparse tensors. PyTorch has a kernel for those of the CPU and of CUDA only.

#include "base/namespaces.h"

namespace torchplug::distributed {

void register_sparse_allreduce();

}  // namespace torchplug::distributed
