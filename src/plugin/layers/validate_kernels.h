#pragma once
// What the validate layer asks of tensors, and of kernels, which are given them.

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::plugin::validation {

// All its elements lie in memory that lives.
void check_tensor(const char* function, const plug_tensor& tensor);

// Calls the kernel, having checked what it is given; then checks its answer.
plug_status check_kernel(const plug_kernel& kernel, const plug_call& call);

}  // namespace torchplug::plugin::validation
