#pragma once
// The threads behind streams: how they start, how they rank and how the process takes leave of
// them. A worker is never joined by handle, since one that waits for ever must not hold up the end
// of the process; it is counted instead. Any thread may call anything here.

#include <chrono>
#include <functional>
#include <string>

namespace torchplug::sim {

// Starts a thread that runs `body`, out of reach of the process's signals.
void start_worker(std::string name, std::function<void()> body);

// Waits until every worker has returned, but not beyond `limit`. Gives the number still running.
int wait_for_workers(std::chrono::milliseconds limit);

// How a stream's priority reaches the scheduler. Without privileges a thread can be lowered but
// never raised. So from the first task of a high-priority stream on, the workers of low-priority
// streams lower themselves; where nobody asks for priority, nobody is slowed.
// One per worker, used on its thread.
class Rank {
 public:
  explicit Rank(bool high) noexcept : high_(high) {}

  // Before each task.
  void take() noexcept;

 private:
  const bool high_;
  bool taken_ = false;
};

}  // namespace torchplug::sim
