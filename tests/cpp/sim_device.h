#pragma once
// The sim device under the core: tests that need streams, several devices or guarded memory.

#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "harness.h"
#include "pytorch/activate.h"
#include "runtime/capture.h"
#include "runtime/gate.h"
#include "runtime/stream.h"

namespace torchplug::tests {

// Runs `body` in a process of its own whose device is sim: two devices of 64 MiB.
inline void on_sim(const std::function<void()>& body) {
  alone([&] {
    ::setenv("TORCHPLUG_SIM_DEVICES", "2", 1);
    ::setenv("TORCHPLUG_SIM_MEMORY", "64MiB", 1);
    pytorch::activate(SIM_LIBRARY);
    body();
  });
}

inline Stream new_stream(int device = 0) {
  return Stream::from_pool(static_cast<c10::DeviceIndex>(device), 0);
}

// Makes a stream the current one of this thread for a while.
class CurrentStream {
 public:
  explicit CurrentStream(const Stream& stream) : before_(stream.exchange_current()) {}
  ~CurrentStream() { before_.exchange_current(); }
  CurrentStream(const CurrentStream&) = delete;
  CurrentStream& operator=(const CurrentStream&) = delete;

 private:
  Stream before_;
};

// What the core knows of a capture on a stream, without the plugin: allocators must not touch its events.
class Capturing {
 public:
  explicit Capturing(const Stream& stream)
      : capture_(std::make_shared<Capture>(stream, CaptureMode::kRelaxed, std::vector<CapturedRandom>(),
                                           /*takes_notes=*/false)) {
    capture_->begin();
  }
  ~Capturing() { end(); }
  Capturing(const Capturing&) = delete;
  Capturing& operator=(const Capturing&) = delete;

  void end() { capture_->end(); }

 private:
  std::shared_ptr<Capture> capture_;
};

// Work of a test's own, in stream order.
class Job final : public HostJob {
 public:
  explicit Job(std::function<void()> work) : work_(std::move(work)) {}
  void run() override { work_(); }

 private:
  std::function<void()> work_;
};

inline void enqueue(const Stream& stream, std::function<void()> work) {
  stream.enqueue(HostJobPtr(std::make_unique<Job>(std::move(work)).release()));
}

}  // namespace torchplug::tests
