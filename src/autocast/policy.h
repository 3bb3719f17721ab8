#pragma once
// What autocast does to each operator on the device: compute in the lower precision, in float32, in the
// widest of the arguments' types, or refuse. PyTorch's own lists, so that a newer PyTorch brings its newer
// operators along, but for the operators that the plugin has rules of its own for. Which types a device
// computes in, and which of them is the default, is for Python to ask: torchplug/_amp.py.

#include "plugin/module.h"

namespace torchplug::autocast {

// Before the plugin is loaded: until then there is no tensor that a rule could be for.
void register_autocast_fallthrough();
// But for operators that an extension has a rule for.
void register_autocast(const Module& module);

}  // namespace torchplug::autocast
