#include "runtime/deferred_warnings.h"

#include <torch/csrc/autograd/graph_task.h>

#include <atomic>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/immortal.h"

namespace torchplug::runtime {
namespace {

// Of a program that never waits only so many are kept; more are printed at once.
constexpr size_t kMostKept = 1000;

struct Kept {
  WarningReceiver receiver;
  c10::Warning warning;
};

void issue_plainly(const Warnings& warnings) {
  for (const c10::Warning& warning : warnings) c10::warn(warning);
}

constinit std::atomic<WarningIssuer> issuer{&issue_plainly};

class KeptWarnings {
 public:
  WarningReceiver add_thread() {
    std::lock_guard lock(lock_);
    threads_.insert(++last_thread_);
    return last_thread_;
  }
  void remove_thread(WarningReceiver thread) {
    std::lock_guard lock(lock_);
    threads_.erase(thread);
  }

  void add(WarningReceiver receiver, const c10::Warning& warning) {
    std::lock_guard lock(lock_);
    if (kept_.size() == kMostKept) return c10::WarningHandler().process(warning);
    kept_.push_back({receiver, warning});
    is_empty_.store(false, std::memory_order_release);
  }

  bool is_empty() const { return is_empty_.load(std::memory_order_acquire); }

  // Those of the thread, and those that no thread is left for.
  Warnings take(WarningReceiver thread) {
    return take_if(
        [&](WarningReceiver receiver) { return receiver == thread || !threads_.contains(receiver); });
  }

  Warnings take_all() {
    return take_if([](WarningReceiver) { return true; });
  }

 private:
  template <class Condition>
  Warnings take_if(const Condition& is_wanted) {
    std::lock_guard lock(lock_);
    Warnings taken;
    std::vector<Kept> left;
    for (Kept& kept : kept_) {
      if (is_wanted(kept.receiver)) {
        taken.push_back(std::move(kept.warning));
      } else {
        left.push_back(std::move(kept));
      }
    }
    kept_ = std::move(left);
    is_empty_.store(kept_.empty(), std::memory_order_release);
    return taken;
  }

  std::mutex lock_;
  std::atomic<bool> is_empty_{true};
  std::vector<Kept> kept_;
  std::unordered_set<WarningReceiver> threads_;
  WarningReceiver last_thread_ = kAnyThread;
};

KeptWarnings& kept_warnings() {
  static auto& warnings = *immortal<KeptWarnings>();
  return warnings;
}

// The calling thread as a receiver, while it lives. The threads of a backward pass wait for nothing.
class ThisThread {
 public:
  ThisThread()
      : receiver_(torch::autograd::get_current_graph_task_id() != -1 ? kAnyThread
                                                                     : kept_warnings().add_thread()) {}
  ~ThisThread() { kept_warnings().remove_thread(receiver_); }
  ThisThread(const ThisThread&) = delete;
  ThisThread& operator=(const ThisThread&) = delete;

  WarningReceiver receiver() const { return receiver_; }

 private:
  WarningReceiver receiver_;
};

}  // namespace

WarningReceiver warning_receiver() {
  thread_local const ThisThread thread;
  return thread.receiver();
}

void DeferWarnings::process(const c10::Warning& warning) { kept_warnings().add(receiver_, warning); }

void set_warning_issuer(WarningIssuer issue) { issuer = issue; }

void issue_deferred_warnings() {
  if (C10_LIKELY(kept_warnings().is_empty())) return;
  const Warnings warnings = kept_warnings().take(warning_receiver());
  if (!warnings.empty()) issuer.load()(warnings);
}

void issue_all_deferred_warnings() { issue_plainly(kept_warnings().take_all()); }

}  // namespace torchplug::runtime
