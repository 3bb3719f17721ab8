#pragma once
// The sim device under the core: tests that need streams, several devices or guarded memory.

#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <utility>

#include "activate.h"
#include "harness.h"
#include "runtime/stream.h"

namespace torchplug_test {

// Runs `body` in a process of its own whose device is sim: two devices of 64 MiB.
inline void on_sim(const std::function<void()>& body) {
  alone([&] {
    ::setenv("TORCHPLUG_SIM_DEVICES", "2", 1);
    ::setenv("TORCHPLUG_SIM_MEMORY", "64MiB", 1);
    torchplug::activate(SIM_LIBRARY);
    body();
  });
}

inline torchplug::Stream new_stream(int device = 0) {
  return torchplug::Stream::from_pool(static_cast<c10::DeviceIndex>(device), 0);
}

// Makes a stream the current one of this thread for a while.
class CurrentStream {
 public:
  explicit CurrentStream(const torchplug::Stream& stream) : before_(stream.exchange_current()) {}
  ~CurrentStream() { before_.exchange_current(); }
  CurrentStream(const CurrentStream&) = delete;
  CurrentStream& operator=(const CurrentStream&) = delete;

 private:
  torchplug::Stream before_;
};

// Work of a test's own, in stream order.
class Job final : public torchplug::HostJob {
 public:
  explicit Job(std::function<void()> work) : work_(std::move(work)) {}
  void run() override { work_(); }

 private:
  std::function<void()> work_;
};

inline void enqueue(const torchplug::Stream& stream, std::function<void()> work) {
  stream.enqueue(torchplug::HostJobPtr(std::make_unique<Job>(std::move(work)).release()));
}

// Holds a stream until it is opened.
class Gate {
 public:
  explicit Gate(const torchplug::Stream& stream) {
    enqueue(stream, [opened = opened_] { opened->wait(); });
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() {
    if (!std::exchange(open_, true)) opened_->count_down();
  }

 private:
  std::shared_ptr<std::latch> opened_ = std::make_shared<std::latch>(1);
  bool open_ = false;
};

}  // namespace torchplug_test
