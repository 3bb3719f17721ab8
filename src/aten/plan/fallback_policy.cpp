#include "aten/plan/fallback_policy.h"

#include <c10/util/Exception.h>

#include "base/settings.h"
#include "runtime/device.h"

namespace torchplug::aten {

FallbackPolicy fallback_policy() {
  static const FallbackPolicy policy = [] {
    const std::string_view word = choice_setting("TORCHPLUG_FALLBACK");
    if (word == "warn") return FallbackPolicy::kWarn;
    return word == "error" ? FallbackPolicy::kError : FallbackPolicy::kAllow;
  }();
  return policy;
}

void FallbackNotice::warn_or_throw(const LedgerAccount& account, Way way, Reason reason) {
  const std::string what = account.op() + " runs on the CPU (" + way_name(way) + ") for device '" +
                           device_type_name() + "': " + account.why_of(way, reason) + ".";
  TORCH_CHECK_NOT_IMPLEMENTED(fallback_policy() != FallbackPolicy::kError, what,
                              " TORCHPLUG_FALLBACK=error forbids it.");
  if (!has_warned_.exchange(true)) {
    TORCH_WARN(what);
  }
}

}  // namespace torchplug::aten
