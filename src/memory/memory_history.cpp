#include "memory/memory_history.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/immortal.h"

namespace torchplug::memory {
namespace {

struct Recording {
  std::mutex options_lock;
  HistoryOptions options;
  std::deque<Annotation> annotations;
  at::CallbackHandle callback = at::INVALID_CALLBACK_HANDLE;
};

Recording& recording() {
  static auto& instance = *immortal<Recording>();
  return instance;
}

std::atomic<bool> enabled{false};

thread_local std::string metadata_of_thread;

int64_t now() {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  return duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void annotate(const at::RecordFunction& function, const char* stage) {
  Recording& shared = recording();
  std::lock_guard lock(shared.options_lock);
  shared.annotations.push_back({current_device(), now(), function.name(), stage});
  if (shared.annotations.size() > shared.options.most_entries) shared.annotations.pop_front();
}

std::unique_ptr<at::ObserverContext> on_region_begin(const at::RecordFunction& function) {
  annotate(function, "START");
  return nullptr;
}

void on_region_end(const at::RecordFunction& function, at::ObserverContext* /*context*/) {
  annotate(function, "END");
}

void listen_to_regions(Recording& shared, bool listen) {
  const bool listens = shared.callback != at::INVALID_CALLBACK_HANDLE;
  if (listen && !listens) {
    shared.callback = at::addGlobalCallback(
        at::RecordFunctionCallback(on_region_begin, on_region_end).scopes({at::RecordScope::USER_SCOPE}));
  } else if (!listen && listens) {
    at::removeCallback(std::exchange(shared.callback, at::INVALID_CALLBACK_HANDLE));
  }
}

}  // namespace

void MemoryHistory::set_options(const HistoryOptions& options) {
  Recording& shared = recording();
  std::lock_guard lock(shared.options_lock);
  listen_to_regions(shared, options.enabled);
  shared.options = options;
  if (!options.enabled) shared.options.level = ContextLevel::kNever;
  if (options.clear) shared.annotations.clear();
  enabled = options.enabled;
}

bool MemoryHistory::is_enabled() noexcept { return enabled.load(std::memory_order_relaxed); }

Context MemoryHistory::gather(ContextLevel level) {
  if (!is_enabled()) return nullptr;
  Context (*gather)() = nullptr;
  {
    Recording& shared = recording();
    std::lock_guard lock(shared.options_lock);
    if (shared.options.level >= level) gather = shared.options.gather;
  }
  return gather == nullptr ? nullptr : gather();
}

void MemoryHistory::set_user_metadata(const std::string& text) { metadata_of_thread = text; }

std::string MemoryHistory::user_metadata() { return metadata_of_thread; }

std::vector<Annotation> MemoryHistory::annotations() {
  Recording& shared = recording();
  std::lock_guard lock(shared.options_lock);
  return {shared.annotations.begin(), shared.annotations.end()};
}

void MemoryHistory::record(const char* action, uint64_t address, size_t bytes, const Stream& stream,
                           c10::MempoolId_t pool, const Context& context) {
  if (C10_LIKELY(!is_enabled())) return;
  size_t most = 0;
  bool keeps_context = false;
  {
    Recording& shared = recording();
    std::lock_guard lock(shared.options_lock);
    const auto& skipped = shared.options.skipped_actions;
    if (std::find(skipped.begin(), skipped.end(), action) != skipped.end()) return;
    most = shared.options.most_entries;
    keeps_context = shared.options.level >= ContextLevel::kAllocations;
  }
  entries_.push_back({action, address, bytes, stream.id(), pool, now(), keeps_context ? context : nullptr,
                      metadata_of_thread});
  while (entries_.size() > most) entries_.pop_front();
}

}  // namespace torchplug::memory
