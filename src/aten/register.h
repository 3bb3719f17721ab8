#pragma once
// Puts the device's operators into PyTorch's dispatcher, in two steps: a fallback that loads the plugin when
// the first of them is called; and, once the plugin has been loaded, all of them. What an extension has
// registered by then stays, and what PyTorch composes of it is left to PyTorch.

#include "plugin/module.h"

namespace torchplug::aten {

void register_first_operators();
// The shims, then one kernel for each operator that the plugin or PyTorch's CPU has one for.
void register_operators(const Module& module);
// Once more, for what extensions have registered since.
void give_way_to_extensions();

}  // namespace torchplug::aten
