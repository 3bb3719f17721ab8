#pragma once
// Warnings of work that runs on a stream's thread, where Python's filters do not reach. They are kept for the
// thread that enqueued the work and issued in its next wait, at the latest. Those of threads that will not
// wait, of a backward pass or ended, go to whoever waits next. Any thread may call anything.

#include <c10/util/Exception.h>

#include <cstdint>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::runtime {

// Who gets the warnings of work that the calling thread enqueues.
using WarningReceiver = uint64_t;
inline constexpr WarningReceiver kAnyThread = 0;
WarningReceiver warning_receiver();

// While it lives, the calling thread's warnings are kept for the receiver.
class DeferWarnings final : c10::WarningHandler {
 public:
  explicit DeferWarnings(WarningReceiver receiver) : receiver_(receiver), guard_(this) {}

 private:
  void process(const c10::Warning& warning) override;

  WarningReceiver receiver_;
  c10::WarningUtils::WarningHandlerGuard guard_;
};

// How they are issued, instead of by c10::warn. May throw.
using Warnings = std::vector<c10::Warning>;
using WarningIssuer = void (*)(const Warnings&);
void set_warning_issuer(WarningIssuer issue);

// Issues what is kept for the calling thread.
void issue_deferred_warnings();

// Issues all that is left when the process ends, by c10::warn.
void issue_all_deferred_warnings();

}  // namespace torchplug::runtime
