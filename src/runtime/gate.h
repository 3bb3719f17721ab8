#pragma once
// Holds a stream until it is told to let go, so that a test can say what runs before what instead of hoping.
// Work enqueued behind a gate waits; other streams go on. Opened at the latest by its destructor. A gate that
// stays shut longer than its limit gives way and fails the stream, since nothing may wait for ever. Any
// thread may open it. Needs host_func.

#include <chrono>
#include <memory>

#include "runtime/stream.h"

namespace torchplug::runtime {

class Gate {
 public:
  explicit Gate(const Stream& stream, std::chrono::duration<double> limit = std::chrono::minutes(1));
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() noexcept;
  // Waits until the stream stands at the gate: all work before it is done. False if it was opened first, or
  // has given way.
  bool wait_until_reached() const;

 private:
  struct State;
  class Job;
  std::shared_ptr<State> state_;
};

}  // namespace torchplug::runtime
