#pragma once
// What the allocator of one device did, in order, for PyTorch's memory visualiser; and on whose behalf.
// Recording is switched on and off for the whole process. A history belongs to a DeviceMemory, whose lock
// guards it; what is static here any thread may call, without that lock.

#include <c10/core/CachingDeviceAllocator.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/stream.h"

namespace torchplug::memory {

using Context = std::shared_ptr<c10::GatheredContext>;

// When the stack is gathered: each level includes those before it.
enum class ContextLevel { kNever, kState, kAllocations, kAll };

struct HistoryOptions {
  bool enabled = false;
  Context (*gather)() = nullptr;  // called without any lock of the allocator
  size_t most_entries = 1;
  ContextLevel level = ContextLevel::kNever;
  bool clear = false;
  std::vector<std::string> skipped_actions;
};

struct TraceEntry {
  const char* action;  // as PyTorch's visualiser names it
  uint64_t address;    // free bytes of the device for "oom"
  size_t bytes;
  c10::StreamId stream;
  c10::MempoolId_t pool;
  int64_t microseconds;  // since 1970
  Context context;
  std::string user_metadata;
};

// A region that a user marked with record_function, begun or ended.
struct Annotation {
  DeviceIndex device;
  int64_t microseconds;
  std::string name;
  std::string stage;  // START or END
};

class MemoryHistory {
 public:
  static void set_options(const HistoryOptions& options);
  static bool is_enabled() noexcept;
  // The stack of the caller, if that is recorded at this level.
  static Context gather(ContextLevel level);
  // Free text that goes with every entry of this thread.
  static void set_user_metadata(const std::string& text);
  static std::string user_metadata();
  static std::vector<Annotation> annotations();

  void record(const char* action, uint64_t address, size_t bytes, const Stream& stream, c10::MempoolId_t pool,
              const Context& context);
  void clear() { entries_.clear(); }
  std::vector<TraceEntry> entries() const { return {entries_.begin(), entries_.end()}; }

 private:
  std::deque<TraceEntry> entries_;
};

}  // namespace torchplug::memory
