#pragma once
// Where kernels are registered with PyTorch: one library for each namespace and dispatch key, made by its
// first use and kept for ever, as the kernels in it may be called until the process has ended.

#include <torch/library.h>

#include "base/namespaces.h"

namespace torchplug::base {

// "_" is the namespace for a fallback of all operators.
torch::Library& operator_library(const char* space, c10::DispatchKey key);

}  // namespace torchplug::base
