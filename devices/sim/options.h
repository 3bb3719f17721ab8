#pragma once
// What the user may set: TORCHPLUG_SIM_DEVICES, TORCHPLUG_SIM_MEMORY, TORCHPLUG_SIM_PROFILER,
// TORCHPLUG_SIM_CAPTURE, TORCHPLUG_SIM_KERNELS, TORCHPLUG_SIM_ANY, TORCHPLUG_SIM_COMPILER and
// TORCHPLUG_SIM_COMPILE_SECONDS.
// Read once, by the entry point.

#include <cstdint>

#include "torchplug/plug.h"

namespace torchplug::sim {

enum class CompilerMode {
  kOff,
  kOn,
  kWhole,  // products, convolutions and what else common models have, too
  kStatic  // takes no symbols
};

struct Options {
  std::int32_t devices = 2;
  std::uint64_t memory = 0;  // bytes of each device; a multiple of Arena::kAlignment
  bool profiler = true;      // off: the host has to time by events
  bool captures = true;      // false: a plugin without the functions that record and replay
  bool kernels = true;       // off: the host borrows every operator
  bool any = false;          // on: a kernel is asked for every other operator too
  CompilerMode compiler = CompilerMode::kOn;
  double compile_seconds = 0;  // that each compile takes at least
};

// Fails with PLUG_INVALID and a sentence that names the setting and what it may be.
Options read_options(const plug_host& host);

}  // namespace torchplug::sim
