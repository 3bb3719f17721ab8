#pragma once
// The layers that TORCHPLUG_LAYERS asks for, put around a plugin when it is loaded: docs/layers.md.

#include "plugin/module.h"

namespace torchplug::plugin {

// Puts them around the tables of `module`; the first named is the outermost. Throws c10::Error for a name
// that is no layer's.
void apply_layers(Module& module);

}  // namespace torchplug::plugin
