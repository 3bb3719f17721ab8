#pragma once
// What a piece of work is, as a record of the profiler's will tell.

#include <cstdint>

#include "torchplug/plug.h"

namespace torchplug::sim {

struct Activity {
  std::int32_t kind = 0;       // PLUG_RECORD_*; 0: nothing worth a record
  const char* name = nullptr;  // a literal
  std::int32_t source = PLUG_HOST;
  std::int32_t target = PLUG_HOST;
  std::uint64_t bytes = 0;
};

}  // namespace torchplug::sim
