#pragma once
// Puts the device's operators into PyTorch's dispatcher: the shims, then one kernel for each operator
// that PyTorch has a CPU kernel for, then a fallback for operators that appear later.

#include "plugin/module.h"

namespace torchplug {

void register_operators(const Module& module);

// Whether the active plugin has a kernel that serves the operator.
bool has_kernel(const char* name);

}  // namespace torchplug
