#include "aten/plan/fallback_policy.h"

#include <c10/util/Exception.h>

#include <cstdlib>

#include "runtime/active_module.h"

namespace torchplug::aten {

FallbackPolicy fallback_policy() {
  static const FallbackPolicy policy = [] {
    const char* value = std::getenv("TORCHPLUG_FALLBACK");
    const std::string text = value == nullptr ? "allow" : value;
    if (text == "warn") return FallbackPolicy::kWarn;
    if (text == "error") return FallbackPolicy::kError;
    TORCH_CHECK(text == "allow", "TORCHPLUG_FALLBACK is '", text, "'. Set it to allow, warn or error.");
    return FallbackPolicy::kAllow;
  }();
  return policy;
}

void FallbackNotice::warn_or_throw(const std::string& op, Way way, Reason reason) {
  const std::string what = op + " runs on the CPU (" + way_name(way) + ") for device '" +
                           active_module().name + "': " + reason_text(reason) + ".";
  TORCH_CHECK_NOT_IMPLEMENTED(fallback_policy() != FallbackPolicy::kError, what,
                              " TORCHPLUG_FALLBACK=error forbids it.");
  if (!has_warned_.exchange(true)) {
    TORCH_WARN(what);
  }
}

}  // namespace torchplug::aten
