#pragma once
// The device xcpu: the host's memory and threads, synchronous. Memory is the host's own, so that what has no
// kernel runs in place on the CPU.

#include "torchplug/plug.h"

namespace xcpu::plugin {

extern const plug_runtime kRuntime;

}  // namespace xcpu::plugin
