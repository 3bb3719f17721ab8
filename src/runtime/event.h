#pragma once
// A mark in the order of a stream, for other streams and the host to wait for.
// Owned by whoever made it; any thread may use it. On a plugin without streams a record is the time
// at which it was made, and it is always ready.

#include <chrono>

#include "runtime/stream.h"

namespace torchplug {

class Event {
 public:
  Event(DeviceIndex device, bool with_timing);
  // Takes over an event of the plugin's.
  Event(DeviceIndex device, plug_event handle) : device_(device), with_timing_(false), handle_(handle) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream);
  // The stream's later work waits for the latest record made so far.
  void block(const Stream& stream) const;
  // The same for a stream of the device that only the plugin knows.
  void block(plug_stream stream) const;
  bool is_ready() const;
  // Ready, or on a device that is lost: there is nothing to wait for.
  bool is_over() const;
  void synchronize() const;
  double milliseconds_until(const Event& end) const;

  DeviceIndex device() const { return device_; }
  plug_event handle() const { return handle_; }

 private:
  DeviceIndex device_;
  bool with_timing_;
  plug_event handle_ = nullptr;
  std::chrono::steady_clock::time_point recorded_at_;
};

}  // namespace torchplug
