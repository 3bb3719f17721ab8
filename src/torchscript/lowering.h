#pragma once
// Modules that are lowered as a whole, torch._C._jit_to_backend: a backend named after the device. What is in
// it is grouped when it is made or loaded, and runs on the device wherever the module lives. PyTorch owns the
// backend's objects; any thread may run one.

#include <string>

#include "base/namespaces.h"

namespace torchplug::torchscript {

// So that modules can be lowered to it and loaded; once.
void register_backend();

}  // namespace torchplug::torchscript
