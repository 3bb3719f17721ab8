#pragma once
// Puts the device's operators into PyTorch's dispatcher, in two steps: those by which a first tensor can
// come about, with a fallback for any other; and, once the plugin has been loaded, all of them.

#include "plugin/module.h"

namespace torchplug::aten {

void register_first_operators();
// The shims, then one kernel for each operator that the plugin or PyTorch's CPU has one for.
void register_operators(const Module& module);

}  // namespace torchplug::aten
