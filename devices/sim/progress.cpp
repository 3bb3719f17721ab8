#include "progress.h"

#include "spin.h"

namespace torchplug::sim {

void Progress::wait(std::uint64_t target) const noexcept {
  if (reached(target)) return;
  {
    Spinner spinner;
    do {
      if (reached(target)) return;
    } while (spinner.pause());
  }
  while (!reached(target)) sleep(target);
}

void Progress::wake_sleepers() noexcept {
  // Whoever sleeps for a later target announces it again.
  wake_at_.store(kNobodySleeps, std::memory_order_seq_cst);
  wakings_.fetch_add(1, std::memory_order_seq_cst);
  wakings_.notify_all();
}

void Progress::sleep(std::uint64_t target) const noexcept {
  // Read before the target is announced: a waking after that changes it and ends the wait.
  const std::uint32_t wakings = wakings_.load(std::memory_order_seq_cst);
  std::uint64_t announced = wake_at_.load(std::memory_order_seq_cst);
  while (target < announced && !wake_at_.compare_exchange_weak(announced, target)) {
  }
  if (value_.load(std::memory_order_seq_cst) >= target) return;
  wakings_.wait(wakings);
}

}  // namespace torchplug::sim
