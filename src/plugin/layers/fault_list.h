#pragma once
// What TORCHPLUG_FAULT says, read: a list of faults, each with the calls it has counted. Shared by the
// threads whose calls it judges; only its counters change.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::plugin {

struct Fault {
  enum class Kind {
    kFails,  // the call fails at once
    kSlow,   // a stream's work is preceded by a delay
    kLater,  // the work is enqueued, and reported to have failed
    kLost,   // from this work on the device is lost
  };

  Kind kind = Kind::kFails;
  std::string text;                        // as it was given
  std::string function;                    // kFails: plug.h's name for it, or "kernel"
  uint64_t nth = 0;                        // 0: every one
  bool and_later = false;                  // ... and all that follow
  uint64_t above_bytes = 0;                // only calls that ask for more
  int32_t device = -1;                     // -1: any
  plug_status status = PLUG_INTERNAL;      // kFails, kLater
  bool only_default = false;               // kSlow: the default stream alone
  std::chrono::nanoseconds delay{0};       // kSlow
  mutable std::atomic<uint64_t> count{0};  // of the calls that concern it

  bool concerns(int32_t of_device) const { return device < 0 || device == of_device; }
  // Counts a call that concerns it; whether it is one that the fault is for.
  bool strikes() const {
    const uint64_t number = ++count;
    return nth == 0 || number == nth || (and_later && number > nth);
  }
};

using FaultList = std::vector<std::unique_ptr<const Fault>>;

// Throws c10::Error with one sentence that names the place.
std::shared_ptr<const FaultList> parse_faults(const std::string& text);

}  // namespace torchplug::plugin
