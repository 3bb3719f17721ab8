#pragma once
// Whether groups are enabled in this process, and with what. Any thread.

#include <memory>

#include "torchscript/entry.h"

namespace torchplug::torchscript {

// Throws if they are enabled already, or if the device has no compiler.
void enable(const Settings& settings);
// What PyTorch is told once: of groups, of the pass that makes them, of the backend that modules are lowered
// to.
void tell_pytorch();
// Groups that run are finished; from then on all are interpreted.
void disable();
// Null: they are not. What a call has got stays as it is until the call is done.
std::shared_ptr<const Settings> current_settings();

}  // namespace torchplug::torchscript
