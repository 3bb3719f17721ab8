#pragma once
// The order of work on one device, as PyTorch's Stream sees it.
// A Stream is a small value; the plugin's stream behind it lives until the process ends. Any thread
// may use any stream; the current stream is per thread and per device. On a plugin without streams
// there is only the default stream, and all work on it is done when the call returns.

#include <c10/core/Stream.h>

#include <memory>

#include "runtime/device.h"

namespace torchplug {

// Work for the host, run in stream order: once, or, enqueued on a stream that captures, at every replay.
class HostJob {
 public:
  virtual ~HostJob() = default;
  virtual void run() = 0;
  // The stream is done with it, on whatever thread: it is destroyed, unless it goes somewhere to be used
  // again.
  virtual void release() noexcept { const std::unique_ptr<HostJob> owned(this); }

  // What it does, for people: an operator's name. Lives until the process ends.
  virtual const char* name() const { return "a host function"; }

  DeviceIndex device() const { return device_; }

 private:
  friend class Stream;
  DeviceIndex device_ = 0;
};

struct ReleaseJob {
  void operator()(HostJob* job) const { job->release(); }
};
using HostJobPtr = std::unique_ptr<HostJob, ReleaseJob>;

class Stream {
 public:
  static Stream current(DeviceIndex device);
  static Stream default_of(DeviceIndex device);
  // From a pool that grows on demand to kPoolSize streams per priority, then repeats.
  static Stream from_pool(DeviceIndex device, int priority);
  explicit Stream(const c10::Stream& stream) : device_(stream.device_index()), id_(stream.id()) {}

  // Makes this the calling thread's current stream of its device; returns the one before.
  Stream exchange_current() const;

  // Runs the job after all work enqueued so far. What it throws is thrown again at the next
  // synchronisation of the device. Needs host_func, or a stream that captures.
  void enqueue(HostJobPtr job) const;

  bool is_idle() const;
  // Waits, then throws what failed on the device meanwhile.
  void synchronize() const;
  // For TORCHPLUG_LAUNCH_BLOCKING: called after every enqueue.
  void synchronize_if_blocking() const;

  plug_stream handle() const { return id_ == 0 ? nullptr : pool_handle(); }
  DeviceIndex device() const { return device_; }
  c10::StreamId id() const { return id_; }
  c10::Stream unwrap() const;
  bool operator==(const Stream&) const = default;

 private:
  Stream(DeviceIndex device, c10::StreamId id) : device_(device), id_(id) {}
  plug_stream pool_handle() const;

  DeviceIndex device_;
  c10::StreamId id_;
};

inline constexpr int kPoolSize = 32;

// Waits for all streams of the device, then throws what failed on it.
void synchronize_device(DeviceIndex device);

}  // namespace torchplug
