#include "aten/plan/ledger.h"

#include <algorithm>
#include <mutex>

#include "base/immortal.h"

namespace torchplug::aten {
namespace {

std::atomic<bool> timed{false};

struct AccountRegistry {
  std::mutex lock;
  std::vector<LedgerAccount*> all;
};

AccountRegistry& account_registry() {
  static auto& instance = *immortal<AccountRegistry>();
  return instance;
}

}  // namespace

const char* way_name(Way way) {
  switch (way) {
    case Way::kKernel: return "kernel";
    case Way::kAny: return "any";
    case Way::kEngine: return "engine";
    case Way::kDecomposed: return "decomposed";
    case Way::kBorrow: return "borrow";
    case Way::kStage: return "stage";
  }
  return "";
}

const char* reason_text(Reason reason) {
  switch (reason) {
    case Reason::kNone: return "";
    case Reason::kNoKernel: return "the plugin has no kernel for it";
    case Reason::kDeclined: return "the plugin's kernel declined the call";
    case Reason::kInputDtype: return "an argument's dtype is not among the device's dtypes";
    case Reason::kResultDtype: return "a result's dtype is not among the device's dtypes";
    case Reason::kKernelInputDtype: return "an argument's dtype is not among the kernel's dtypes";
    case Reason::kKernelResultDtype: return "a result's dtype is not among the kernel's dtypes";
    case Reason::kArguments: return "the plugin's kernel cannot take such arguments";
    case Reason::kUnshaped:
      return "neither PyTorch nor the plugin's prepare says what shape its results have";
    case Reason::kNoStridedCopy: return "the plugin has no copy_strided, or none that takes such a copy";
    case Reason::kGenerated: return "Inductor has generated it for the CPU";
  }
  return "";
}

LedgerAccount::LedgerAccount(std::string op) : op_(std::move(op)) {
  std::lock_guard lock(account_registry().lock);
  account_registry().all.push_back(this);
}

LedgerAccount::~LedgerAccount() {
  std::lock_guard lock(account_registry().lock);
  std::erase(account_registry().all, this);
}

void LedgerAccount::count(Way way, Reason reason, uint64_t bytes, uint64_t nanoseconds) {
  Line& line = lines_[static_cast<size_t>(way)][static_cast<size_t>(reason)];
  line.count.fetch_add(1, std::memory_order_relaxed);
  if (bytes != 0) line.bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (nanoseconds != 0) line.nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
}

void LedgerAccount::explain(const std::string& why) {
  const std::lock_guard lock(why_lock_);
  if (why_declined_ != why) why_declined_ = why;
}

void LedgerAccount::explain_whole(const std::string& why) {
  const std::lock_guard lock(why_lock_);
  if (why_whole_ != why) why_whole_ = why;
}

std::string LedgerAccount::why_of(Way way, Reason reason) const {
  const std::lock_guard lock(why_lock_);
  std::string why = reason_text(reason);
  if (reason == Reason::kDeclined && !why_declined_.empty()) why += ": " + why_declined_;
  const bool is_on_host = way == Way::kBorrow || way == Way::kStage;
  if (is_on_host && !why_whole_.empty()) why += "; " + why_whole_;
  return why;
}

void LedgerAccount::collect(std::vector<LedgerEntry>& entries) const {
  for (size_t way = 0; way < kWays; ++way) {
    for (size_t reason = 0; reason < kReasons; ++reason) {
      const Line& line = lines_[way][reason];
      if (line.count == 0) continue;
      entries.push_back({op_, static_cast<Way>(way), static_cast<Reason>(reason), line.count, line.bytes,
                         line.nanoseconds, why_of(static_cast<Way>(way), static_cast<Reason>(reason))});
    }
  }
}

void LedgerAccount::reset() {
  for (auto& reasons : lines_) {
    for (Line& line : reasons) {
      line.count = 0;
      line.bytes = 0;
      line.nanoseconds = 0;
    }
  }
}

std::vector<LedgerEntry> ledger_entries() {
  std::vector<LedgerEntry> entries;
  std::lock_guard lock(account_registry().lock);
  for (const LedgerAccount* account : account_registry().all) account->collect(entries);
  const auto by_count = [](const LedgerEntry& a, const LedgerEntry& b) { return a.count > b.count; };
  std::stable_sort(entries.begin(), entries.end(), by_count);
  return entries;
}

void reset_ledger() {
  std::lock_guard lock(account_registry().lock);
  for (LedgerAccount* account : account_registry().all) account->reset();
}

void time_ledger(bool on) { timed = on; }
bool is_ledger_timed() { return timed.load(std::memory_order_relaxed); }

}  // namespace torchplug::aten
