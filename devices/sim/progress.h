#pragma once
// A count that only grows, and a way to wait until it has reached a number. A stream has two: tasks
// given to it and tasks it has finished. One thread at a time advances it; any thread may wait.

#include <atomic>
#include <cstdint>
#include <limits>

namespace torchplug::sim {

class Progress {
 public:
  // What was written before the count reached this value is visible to the caller.
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_acquire); }
  bool reached(std::uint64_t target) const noexcept { return value() >= target; }

  void advance_to(std::uint64_t value) noexcept {
    // In one total order with the sleeper's two steps, announcing its target and then looking at
    // the value once more: one of the two sees the other.
    value_.store(value, std::memory_order_seq_cst);
    if (value >= wake_at_.load(std::memory_order_seq_cst)) wake_sleepers();
  }

  // Spins briefly, then sleeps.
  void wait(std::uint64_t target) const noexcept;

 private:
  static constexpr std::uint64_t kNobodySleeps = std::numeric_limits<std::uint64_t>::max();

  void wake_sleepers() noexcept;
  void sleep(std::uint64_t target) const noexcept;

  alignas(64) std::atomic<std::uint64_t> value_{0};
  // The least target anyone sleeps for, so that a thread waiting for the thousandth task is not
  // woken by the nine hundred and ninety-nine before it.
  mutable std::atomic<std::uint64_t> wake_at_{kNobodySleeps};
  std::atomic<std::uint32_t> wakings_{0};
};

}  // namespace torchplug::sim
