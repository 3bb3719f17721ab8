#include "spin.h"

#include <thread>

namespace torchplug::sim {
namespace {

using std::chrono::microseconds;

// The gap between two operators of an eager program is shorter than this.
constexpr microseconds kLongest{50};
// After this, whoever else wants the processor gets it, and that may be the very thread whose work
// is awaited: with more streams than processors, spinning alone would only delay it.
constexpr microseconds kWithoutYield{2};
constexpr unsigned kPausesPerClockRead = 16;

void processor_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

bool Spinner::pause() noexcept {
  if (!yields_) {
    processor_pause();
    if (++pauses_ % kPausesPerClockRead != 0) return true;
  } else {
    std::this_thread::yield();
  }
  const auto elapsed = std::chrono::steady_clock::now() - start_;
  yields_ = elapsed >= kWithoutYield;
  return elapsed < kLongest;
}

}  // namespace torchplug::sim
