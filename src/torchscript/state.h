#pragma once
// Whether groups are enabled in this process, and with what. Any thread.

#include <memory>

#include "torchscript/entry.h"

namespace torchplug::torchscript {

// Throws if they are enabled already, or if the device has no compiler.
void enable(const Settings& settings);
// Groups that run are finished; from then on all are interpreted.
void disable();
// Null: they are not. What a call has got stays as it is until the call is done.
std::shared_ptr<const Settings> current_settings();

}  // namespace torchplug::torchscript
