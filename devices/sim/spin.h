#pragma once
// The short busy wait before a thread sleeps: waking a sleeper costs microseconds, and the next
// piece of work often comes sooner. One Spinner per wait, on the waiting thread's stack.

#include <chrono>

namespace torchplug::sim {

class Spinner {
 public:
  // Lets a moment pass. False once it is time to sleep instead.
  bool pause() noexcept;

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  unsigned pauses_ = 0;
  bool yields_ = false;
};

}  // namespace torchplug::sim
