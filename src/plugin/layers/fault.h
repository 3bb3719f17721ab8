#pragma once
// The layer that makes things go wrong on purpose: allocations that fail, slow streams, work that fails
// later, a device that is lost. TORCHPLUG_FAULT says what; docs/layers.md has its grammar. Any thread may
// call; calls are counted in the order in which they are made.

#include <string>

#include "plugin/module.h"

namespace torchplug::plugin {

// Puts the layer around the tables of `module`, with the faults that TORCHPLUG_FAULT says.
void insert_fault(Module& module);

// Replaces all faults by those that `text` says, counting anew; "" for none. What is lost is found again.
// Throws c10::Error if the layer is not in place, or with one sentence that says what is wrong with `text`.
void set_faults(const std::string& text);

}  // namespace torchplug::plugin
