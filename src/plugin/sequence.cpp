#include "plugin/sequence.h"

#include <c10/macros/Macros.h>

#include <array>
#include <atomic>

namespace torchplug::plugin {
namespace {

constexpr uint64_t kReservedAtOnce = 64;  // so that threads seldom meet at the counter they share
constexpr uint64_t kKept = 8192;

constinit std::atomic<uint64_t> given{1};

// The numbers that are this thread's to use.
struct ReservedNumbers {
  uint64_t next = 0;
  uint64_t end = 0;
};
constinit thread_local ReservedNumbers reserved;

// A reader that finds the number before and after the name has the name of that number: a writer takes the
// old number away first.
struct Entry {
  std::atomic<uint64_t> sequence{0};
  std::atomic<const char*> name{nullptr};
};
constinit std::array<Entry, kKept> latest{};

}  // namespace

uint64_t next_sequence() noexcept {
  ReservedNumbers& mine = reserved;
  if (C10_UNLIKELY(mine.next == mine.end)) {
    mine.next = given.fetch_add(kReservedAtOnce, std::memory_order_relaxed);
    mine.end = mine.next + kReservedAtOnce;
  }
  return mine.next++;
}

uint64_t latest_sequence() noexcept {
  const uint64_t next = reserved.next;
  return next == 0 ? 0 : next - 1;
}

uint64_t next_sequence(const char* name) noexcept {
  const uint64_t sequence = next_sequence();
  Entry& entry = latest[sequence % kKept];
  entry.sequence.store(0, std::memory_order_relaxed);
  entry.name.store(name, std::memory_order_release);
  entry.sequence.store(sequence, std::memory_order_release);
  return sequence;
}

const char* name_of_sequence(uint64_t sequence) noexcept {
  const Entry& entry = latest[sequence % kKept];
  if (sequence == 0 || entry.sequence.load(std::memory_order_acquire) != sequence) return nullptr;
  const char* name = entry.name.load(std::memory_order_acquire);
  return entry.sequence.load(std::memory_order_relaxed) == sequence ? name : nullptr;
}

}  // namespace torchplug::plugin
