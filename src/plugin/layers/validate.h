#pragma once
// The layer that checks every call: what the core asks of the plugin, and what the plugin answers.
// What it finds wrong has a stable id and one sentence: docs/layers.md. Any thread may call.

#include "plugin/module.h"

namespace torchplug::plugin {

// Puts the layer around the tables of `module`.
void insert_validate(Module& module);

}  // namespace torchplug::plugin
