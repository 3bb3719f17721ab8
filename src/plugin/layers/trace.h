#pragma once
// The layer that writes down every call of the plugin, so that plug-replay makes the same ones without
// PyTorch: docs/trace.md. It waits for what it reads; calls, their order and their answers are the same. Any
// thread may call.

#include "plugin/module.h"

namespace torchplug::plugin {

// Puts the layer around the tables of `module`. TORCHPLUG_TRACE is the file. Throws c10::Error if it cannot
// be written.
void insert_trace(Module& module);

}  // namespace torchplug::plugin
