#pragma once
// The layers that TORCHPLUG_LAYERS asks for, put around a plugin when it is loaded: docs/layers.md.

#include <string>
#include <vector>

#include "plugin/module.h"

namespace torchplug::plugin {

// Puts them around the tables of `module`, the process's one device plugin; the first named is the
// outermost. Throws c10::Error for a name that is no layer's.
void apply_layers(Module& module);

// Those in place, the outermost first.
const std::vector<std::string>& active_layers();

}  // namespace torchplug::plugin
