#pragma once
// Plugins that bring operators of their own: any number of them, beside any device or none.

#include <string>
#include <vector>

#include "plugin/module.h"

namespace torchplug::pytorch {

// Loads the plugin at `path` for the operators of its own, and returns their names. One that is a device too
// becomes none by this. Loading it again does nothing. Throws c10::Error with one sentence; PyTorch is then
// as it was.
std::vector<std::string> load_operators(const std::string& path);

// Puts the layers around a plugin and defines its operators, unless that was done. Throws as above.
void prepare_operators(Module& module);

}  // namespace torchplug::pytorch
