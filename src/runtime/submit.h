#pragma once
// The one way by which a device is given work: kernels, copies, fills, host functions, replays, waits for
// events. Here it gets its number, by which the plugin reports what failed later; is noted by a capture; and
// is seen by a profiler, if one listens: otherwise that costs one load and one branch. There is at most one
// listener; it lives until the process ends and is told of work by the thread that submits it.

#include <c10/macros/Macros.h>

#include <atomic>

#include "plugin/layers/emulated_capture.h"
#include "plugin/sequence.h"
#include "runtime/capture.h"
#include "runtime/host_map.h"
#include "runtime/stream.h"

namespace torchplug::runtime {

struct Work {
  enum class Kind : uint8_t {
    kKernel,
    kHost,  // an operator that PyTorch's CPU kernel carries out on the device's memory
    kCopy,
    kFill,
    kReplay,  // of a graph
    kWait,    // of a stream, for an event
    kSync     // of the calling thread, for the device
  };

  Kind kind;
  const Stream& stream;
  const char* function;        // plug.h's name for what is called
  const char* name = nullptr;  // of the operator or kernel, where there is one; lives until the process ends
  // The calling thread does the work itself: its times are the work's.
  bool is_here = false;
  bool may_decline = false;  // PLUG_UNSUPPORTED is an answer
  uint64_t bytes = 0;
  const plug_mem* to = nullptr;  // of a copy
  const plug_mem* from = nullptr;

  const char* title() const { return name == nullptr ? function : name; }
};

class WorkListener {
 public:
  // Gives a number for end().
  virtual uint64_t begin(const Work& work) noexcept = 0;
  // `done`: false if nothing came of it.
  virtual void end(uint64_t number, bool done) noexcept = 0;
  // Runs a job that was captured, as part of a replay that a plugin carries out, on whatever thread.
  virtual void run_replayed(HostJob& job) = 0;

 protected:
  ~WorkListener() = default;
};

// From now on; null: nobody.
void listen_to_work(WorkListener* listener) noexcept;

namespace detail {

extern std::atomic<WorkListener*> work_listener;

class ObservedWork {
 public:
  ObservedWork(WorkListener& listener, const Work& work)
      : listener_(listener), number_(listener.begin(work)) {}
  ~ObservedWork() { listener_.end(number_, done_); }
  ObservedWork(const ObservedWork&) = delete;
  ObservedWork& operator=(const ObservedWork&) = delete;

  plug_status finish(plug_status status) {
    done_ = status == PLUG_OK;
    return status;
  }

 private:
  WorkListener& listener_;
  uint64_t number_;
  bool done_ = false;
};

void note_in_capture(const Work& work);

}  // namespace detail

// Gives what give() gives. Only for what is no work of the device's, as waiting for it; and for a piece of
// work that was submitted before, as part of a graph.
template <class Give>
plug_status observe(const Work& work, const Give& give) {
  WorkListener* listener = detail::work_listener.load(std::memory_order_acquire);
  if (C10_LIKELY(listener == nullptr)) return give();
  detail::ObservedWork observed(*listener, work);
  return observed.finish(give());
}

// give(number) hands the work over. Returns PLUG_OK, or PLUG_UNSUPPORTED if that may be, and throws for any
// other answer. Waits for the work if TORCHPLUG_LAUNCH_BLOCKING asks for it.
template <class Give>
plug_status submit(const Work& work, const Give& give) {
  if (any_capture()) detail::note_in_capture(work);
  const uint64_t number = next_sequence(work.title());
  const GateUse gate(work.stream.device());
  const plug_status status = observe(work, [&] { return give(number); });
  if (C10_UNLIKELY(status != PLUG_OK)) {
    const bool is_declined = work.may_decline && status == PLUG_UNSUPPORTED;
    if (!is_declined) check(status, work.title(), work.stream.device(), number, work.function);
    // Why a kernel declined, its caller asks; of other work nobody wants to know.
    if (work.kind != Work::Kind::kKernel) take_plugin_error();
    return status;
  }
  if (C10_UNLIKELY(launch_blocking())) work.stream.synchronize_if_blocking();
  return status;
}

// Runs a job on the thread of its stream.
inline void run_observed(HostJob& job) {
  WorkListener* listener = detail::work_listener.load(std::memory_order_acquire);
  if (C10_LIKELY(listener == nullptr) || !job.captured_on()) {
    job.run();
  } else {
    listener->run_replayed(job);
  }
}

// For plugin::emulate_capture: what a replay of torchplug's own gives to a device is seen piece by piece.
plug_status observe_replayed(const plugin::ReplayedWork& replayed, const std::function<plug_status()>& give);

}  // namespace torchplug::runtime
