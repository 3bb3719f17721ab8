#pragma once
// A lock for what takes nanoseconds: whoever finds it taken waits without sleeping. Nothing that may
// block, allocate much or call a plugin belongs under it.

#include <c10/macros/Macros.h>

#include <atomic>
#include <thread>

#include "base/namespaces.h"

namespace torchplug::base {

class SpinLock {
 public:
  void lock() noexcept {
    if (C10_UNLIKELY(taken_.exchange(true, std::memory_order_acquire))) wait();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  // Until it is the caller's.
  C10_NOINLINE void wait() noexcept {
    do {
      // The holder may have been suspended: let it run.
      while (taken_.load(std::memory_order_relaxed)) std::this_thread::yield();
    } while (taken_.exchange(true, std::memory_order_acquire));
  }

  std::atomic<bool> taken_{false};
};

}  // namespace torchplug::base
