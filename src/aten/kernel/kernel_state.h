#pragma once
// What a kernel's `prepare` kept for the calls of one plan, plug_call::state. Plans own it, and graphs that
// were captured with it. When the last of them is gone, `forget` is called as soon as the streams have
// executed every call that came with the state: at the latest when another state is kept or let go after
// that. Nothing is called once the plugin has been shut down. Any thread may let go of it.

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/spin_lock.h"
#include "plugin/module.h"
#include "runtime/stream.h"

namespace torchplug::aten {

class KernelState {
 public:
  // `device`: of the calls; negative for those of CPU tensors, which are over when they return.
  KernelState(const Module& module, const plug_kernel& kernel, void* state, DeviceIndex device);
  // What is forgotten otherwise, and is no plug_call::state.
  KernelState(const Module& module, std::function<void()> forget, DeviceIndex device);
  ~KernelState();
  KernelState(const KernelState&) = delete;
  KernelState& operator=(const KernelState&) = delete;

  void* get() const { return state_; }

  // Before a call with it is given to the stream.
  void note_use(const Stream& stream) const {
    if (C10_UNLIKELY(last_used_.load(std::memory_order_relaxed) != stream.id())) add_stream(stream);
  }

 private:
  void add_stream(const Stream& stream) const;

  const Module& module_;
  std::function<void()> forget_;
  void* state_;
  DeviceIndex device_;
  static constexpr c10::StreamId kNone = -1;
  mutable std::atomic<c10::StreamId> last_used_{kNone};
  mutable SpinLock used_lock_;  // guards
  mutable std::vector<Stream> used_on_;
};

}  // namespace torchplug::aten
