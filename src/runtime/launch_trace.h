#pragma once
// Everything that is given to a device passes here, so that a profiler can listen.
// While nobody listens, a launch costs one relaxed load and one branch. There is at most one listener; it
// lives until the process ends and is told of a launch by the thread that makes it.

#include <c10/macros/Macros.h>

#include <atomic>
#include <string_view>

#include "runtime/stream.h"

namespace torchplug::runtime {

struct Launch {
  enum class Kind : uint8_t {
    kKernel,
    kHost,  // an operator that PyTorch's CPU kernel carries out on the device's memory
    kCopy,
    kFill,
    kWait,  // of a stream, for an event
    kSync   // of the calling thread, for the device
  };

  Kind kind;
  Stream stream;
  plug_stream handle;
  const char* call;         // plug.h's name for what is called
  std::string_view name{};  // of the operator or kernel, where there is one
  // The calling thread does the work itself: its times are the work's.
  bool is_here = false;
  uint64_t bytes = 0;
  const plug_mem* to = nullptr;  // of a copy
  const plug_mem* from = nullptr;
};

class LaunchListener {
 public:
  // Gives a number for end().
  virtual uint64_t begin(const Launch& launch) noexcept = 0;
  // `done`: false if nothing came of the launch.
  virtual void end(uint64_t number, bool done) noexcept = 0;

 protected:
  ~LaunchListener() = default;
};

// From now on; null: nobody.
void listen_to_launches(LaunchListener* listener) noexcept;

namespace detail {

extern std::atomic<LaunchListener*> launch_listener;

class ObservedLaunch {
 public:
  ObservedLaunch(LaunchListener& listener, const Launch& launch)
      : listener_(listener), number_(listener.begin(launch)) {}
  ~ObservedLaunch() { listener_.end(number_, done_); }
  ObservedLaunch(const ObservedLaunch&) = delete;
  ObservedLaunch& operator=(const ObservedLaunch&) = delete;

  plug_status finish(plug_status status) {
    done_ = status == PLUG_OK;
    return status;
  }

 private:
  LaunchListener& listener_;
  uint64_t number_;
  bool done_ = false;
};

}  // namespace detail

// Gives what call() gives, which hands the work over. describe() gives the Launch, if anybody listens.
template <class Describe, class Call>
plug_status launch(const Describe& describe, const Call& call) {
  LaunchListener* listener = detail::launch_listener.load(std::memory_order_acquire);
  if (C10_LIKELY(listener == nullptr)) return call();
  detail::ObservedLaunch observed(*listener, describe());
  return observed.finish(call());
}

}  // namespace torchplug::runtime
