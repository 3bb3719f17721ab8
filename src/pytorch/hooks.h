#pragma once
// What PyTorch asks an accelerator outside of any operator: is it there, its generators, its memory.

#include "base/namespaces.h"

namespace torchplug::pytorch {

// Registers the hooks with PyTorch, once, for the life of the process. Call before the device is renamed.
void register_hooks();

}  // namespace torchplug::pytorch
