#pragma once
// The account of how operators ran: by the plugin's kernel for it, by its kernel for any, in an engine of
// its compiler's, decomposed into operators that have kernels, borrowed, or staged, and why.
// Each operator owns its lines and counts in them with relaxed atomics, a few nanoseconds a call;
// reading collects the lines of all operators. Any thread may count, any may read.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "base/spin_lock.h"

namespace torchplug::aten {

enum class Way { kKernel, kAny, kEngine, kDecomposed, kBorrow, kStage };
enum class Reason {
  kNone,
  kNoKernel,
  kDeclined,
  kInputDtype,
  kResultDtype,
  kKernelInputDtype,
  kKernelResultDtype,
  kArguments,
  kUnshaped,
  kNoStridedCopy,
  kGenerated
};

const char* way_name(Way way);
const char* reason_text(Reason reason);

struct LedgerEntry {
  std::string op;
  Way way;
  Reason reason;
  uint64_t count;
  uint64_t bytes;        // moved between host and device for it
  uint64_t nanoseconds;  // of the calling thread, while timing is on
  std::string why;       // the reason in words; those of the plugin where it said any
};

// The lines of one operator.
class LedgerAccount {
 public:
  explicit LedgerAccount(std::string op);
  ~LedgerAccount();
  LedgerAccount(const LedgerAccount&) = delete;
  LedgerAccount& operator=(const LedgerAccount&) = delete;

  void count(Way way, Reason reason, uint64_t bytes, uint64_t nanoseconds);
  // Why the plugin declined a call, in its words, of which there may be none; the latest call counts.
  void explain(const std::string& why);
  // Why a call was not decomposed, though the plugin would have it; the latest count.
  void explain_whole(const std::string& why);
  // What is said of calls that ran in such a way for such a reason.
  std::string why_of(Way way, Reason reason) const;
  const std::string& op() const { return op_; }
  void collect(std::vector<LedgerEntry>& entries) const;
  void reset();

 private:
  struct Line {
    std::atomic<uint64_t> count{0};
    std::atomic<uint64_t> bytes{0};
    std::atomic<uint64_t> nanoseconds{0};
  };
  static constexpr size_t kWays = 6;
  static constexpr size_t kReasons = 11;

  std::string op_;
  mutable SpinLock why_lock_;  // guards
  std::string why_declined_;
  std::string why_whole_;
  std::array<std::array<Line, kReasons>, kWays> lines_;
};

std::vector<LedgerEntry> ledger_entries();
void reset_ledger();
void time_ledger(bool on);
bool is_ledger_timed();

// Measures the calling thread's time from its making on, if timing is on.
class LedgerTimer {
 public:
  LedgerTimer() : timed_(is_ledger_timed()) {
    if (timed_) start_ = std::chrono::steady_clock::now();
  }
  uint64_t nanoseconds() const {
    if (!timed_) return 0;
    return static_cast<uint64_t>((std::chrono::steady_clock::now() - start_) / std::chrono::nanoseconds(1));
  }

 private:
  bool timed_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace torchplug::aten
