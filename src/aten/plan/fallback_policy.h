#pragma once
// TORCHPLUG_FALLBACK: what to do when an operator has to run on the CPU. allow, warn (once per operator) or
// error.

#include <atomic>
#include <string>

#include "aten/plan/ledger.h"

namespace torchplug::aten {

enum class FallbackPolicy { kAllow, kWarn, kError };

FallbackPolicy fallback_policy();

inline bool is_fallback_allowed() {
  static const bool is_allowed = fallback_policy() == FallbackPolicy::kAllow;
  return is_allowed;
}

// One operator's part in it. Any thread.
class FallbackNotice {
 public:
  // Warns or throws, if that is what is wanted.
  void give(const LedgerAccount& account, Way way, Reason reason) {
    if (!is_fallback_allowed()) warn_or_throw(account, way, reason);
  }

 private:
  void warn_or_throw(const LedgerAccount& account, Way way, Reason reason);

  std::atomic<bool> has_warned_{false};
};

}  // namespace torchplug::aten
