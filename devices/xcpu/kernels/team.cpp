#include "team.h"

namespace xcpu {
namespace {

constexpr int kLooks = 2000;  // some 50 us

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void Barrier::wait(std::int32_t count) {
  if (count == 1) return;
  const std::uint32_t round = round_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();  // a system call only where somebody sleeps
    return;
  }
  for (int i = 0; i < kLooks; ++i) {
    if (round_.load(std::memory_order_acquire) != round) return;
    relax();
  }
  while (round_.load(std::memory_order_acquire) == round) round_.wait(round, std::memory_order_acquire);
}

}  // namespace xcpu
