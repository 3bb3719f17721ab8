#pragma once
// One simulated device: its memory, its default stream and the streams made on it.
// All devices are made by the entry point and live until the process ends; none maps memory or
// starts a thread before it is opened. Any thread may call anything.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "arena.h"
#include "event.h"
#include "imports.h"
#include "options.h"
#include "stream.h"
#include "torchplug/plug.h"

// What the handles of the interface point at.
struct plug_stream_s {
  std::int32_t device;
  std::shared_ptr<torchplug::sim::Stream> stream;
};
struct plug_event_s {
  std::int32_t device;
  std::shared_ptr<torchplug::sim::Event> event;
};
struct plug_capture_s {
  std::shared_ptr<torchplug::sim::Capture> capture;
};

namespace torchplug::sim {

class Device {
 public:
  static constexpr std::int32_t kHighPriority = -1;
  static constexpr std::int32_t kLowPriority = 0;

  Device(std::int32_t index, std::uint64_t memory);

  plug_device_info info() const;

  // Maps the memory. Again is a no-op.
  void open();
  bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }
  Arena& arena() const noexcept { return *arena_; }
  Imports& imports() const noexcept { return *imports_; }

  // The stream behind a handle of this device; the default stream for NULL.
  Stream& stream(plug_stream handle) const;
  Event& event(plug_event handle) const;

  // Priorities beyond the range are moved into it.
  plug_stream create_stream(std::int32_t priority);
  void destroy_stream(plug_stream handle);

  // To a library of this device's own, a stream is the Stream itself: here and back again.
  void* native_stream(plug_stream handle) const { return &stream(handle); }
  plug_stream import_stream(const void* native) const;

  plug_event create_event(std::uint32_t flags) const;
  // Another process's event, by what export_event gave there.
  plug_event import_event(int fd) const;
  void destroy_event(plug_event handle) const;

  // Waits for all work enqueued so far, that of destroyed streams included.
  void synchronize() const;

  // Lets every worker run out of work and end. Does not wait.
  void close_streams() const;

 private:
  const std::int32_t index_;
  const std::uint64_t memory_;
  const std::string name_;  // "sim:0"

  std::mutex opening_;
  std::atomic<bool> open_{false};
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Imports> imports_;

  const std::shared_ptr<Stream> default_stream_;
  mutable std::mutex streams_mutex_;              // guards what follows
  std::vector<std::shared_ptr<Stream>> streams_;  // the default one, and all that may have work
  std::uint64_t streams_made_ = 0;
};

// Called once, before the functions below.
void make_devices(const Options& options);

std::int32_t device_count() noexcept;
Device& any_device(std::int32_t index);   // fails if there is no such device
Device& open_device(std::int32_t index);  // and if it has not been opened

}  // namespace torchplug::sim
