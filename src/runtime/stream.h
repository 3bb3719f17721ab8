#pragma once
// The order of work on one device, as PyTorch's Stream sees it.
// A Stream is a small value; the plugin's stream behind it lives until the process ends, or, made outside of
// torchplug, for as long as whoever made it keeps it. Any thread may use any stream; the current stream is
// per thread and per device. On a plugin without streams there is only the default stream, and all work on
// it is done when the call returns.

#include <c10/core/Stream.h>

#include <memory>
#include <optional>

#include "runtime/deferred_warnings.h"
#include "runtime/device.h"

namespace torchplug::runtime {

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

  // Known once it is enqueued.
  DeviceIndex device() const { return device_; }
  uint64_t sequence() const { return sequence_; }
  const std::optional<c10::StreamId>& captured_on() const { return captured_on_; }
  WarningReceiver receiver() const { return receiver_; }

 private:
  friend class Stream;
  DeviceIndex device_ = 0;
  uint64_t sequence_ = 0;
  std::optional<c10::StreamId> captured_on_;  // the plugin runs it at each replay
  WarningReceiver receiver_ = kAnyThread;
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
  // A stream that torchplug did not make, by what the vendor's own libraries call it. The same handle gives
  // the same Stream, also that of a stream which torchplug did make.
  static Stream from_native(DeviceIndex device, void* native);
  // The one that the plugin knows by this handle.
  static Stream of_handle(DeviceIndex device, plug_stream handle);
  explicit Stream(const c10::Stream& stream) : device_(stream.device_index()), id_(stream.id()) {}

  // Makes this the calling thread's current stream of its device; returns the one before.
  Stream exchange_current() const;

  // Runs the job after all work enqueued so far. What it throws is thrown again at the next
  // synchronisation of the device. Needs host_func, or a stream that captures.
  void enqueue(HostJobPtr job) const;
  // For a plugin without host_func: waits, then runs the job on the calling thread.
  void run_here(HostJob& job) const;

  bool is_idle() const;
  // Waits, then throws what failed on the device meanwhile.
  void synchronize() const;
  // For TORCHPLUG_LAUNCH_BLOCKING: called after every enqueue.
  void synchronize_if_blocking() const;

  plug_stream handle() const { return id_ == 0 ? nullptr : table_handle(); }
  // What the vendor's own libraries call it.
  void* native_handle() const;
  // As it was asked for when the stream was made, within the device's range; 0 for one made outside.
  int priority() const;
  DeviceIndex device() const { return device_; }
  c10::StreamId id() const { return id_; }
  c10::Stream unwrap() const;
  bool operator==(const Stream&) const = default;

 private:
  friend class PrivateStream;
  Stream(DeviceIndex device, c10::StreamId id) : device_(device), id_(id) {}
  plug_stream table_handle() const;

  DeviceIndex device_;
  c10::StreamId id_;
};

inline constexpr int kPoolSize = 32;

// A stream that is in no pool: nobody else is given it while this lives. For work that may wait long,
// which must not hold up others.
class PrivateStream {
 public:
  explicit PrivateStream(DeviceIndex device);
  ~PrivateStream();
  PrivateStream(const PrivateStream&) = delete;
  PrivateStream& operator=(const PrivateStream&) = delete;

  const Stream& get() const { return stream_; }

 private:
  Stream stream_;
};

// Throws if the calling thread runs a HostJob in the order of a stream: it may wait for nothing of a device.
void refuse_wait_in_job();

// Waits for all streams of the device, then throws what failed on it.
void synchronize_device(DeviceIndex device);

}  // namespace torchplug::runtime
