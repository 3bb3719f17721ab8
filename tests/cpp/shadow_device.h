#pragma once
// The sim device behind tests/plugins/shadow.c, which counts the host's calls and breaks them on request.

#include <cstdlib>
#include <functional>
#include <string>

#include "harness.h"
#include "pytorch/activate.h"
#include "shadow.h"

namespace torchplug::tests {

inline uint64_t count_of(const char* function) {
  return exported<decltype(shadow_count)>(plugin_path("shadow"), "shadow_count")(function);
}

inline void break_next(const char* function, plug_status status, const char* sentence) {
  exported<decltype(shadow_break)>(plugin_path("shadow"), "shadow_break")(function, status, sentence);
}

// Runs `body` in a process of its own whose device is the shadow: two devices of 64 MiB.
inline void on_shadow(const std::function<void()>& body) {
  alone([&] {
    ::setenv("TORCHPLUG_SHADOW_SIM", SIM_LIBRARY, 1);
    ::setenv("TORCHPLUG_SIM_MEMORY", "64MiB", 1);
    pytorch::activate(plugin_path("shadow"));
    body();
  });
}

}  // namespace torchplug::tests
