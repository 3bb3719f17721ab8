#pragma once
// One kernel for every operator that has none of its own, with TORCHPLUG_SIM_ANY=on: it does a few and
// declines the rest.

#include "torchplug/plug.h"

namespace torchplug::sim {

extern const plug_kernel kAny;

}  // namespace torchplug::sim
