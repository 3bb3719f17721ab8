#pragma once
// A mark in the order of a stream, for other streams and the host to wait for.
// Owned by whoever made it; any thread may use it. On a plugin without streams a record is the time
// at which it was made, and it is always ready. A record made in the capture of a graph orders the streams
// of the capture and can be waited for by nobody else.

#include <chrono>
#include <memory>

#include "runtime/stream.h"

namespace torchplug::runtime {

class Capture;

class Event {
 public:
  Event(DeviceIndex device, bool with_timing);
  // Takes over an event of the plugin's.
  Event(DeviceIndex device, plug_event handle) : device_(device), with_timing_(false), handle_(handle) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream);
  // The stream's later work waits for the latest record made so far. Between two devices whose plugin has no
  // such wait the calling thread waits.
  void block(const Stream& stream) const;
  bool is_ready() const;
  // Ready, or on a device that is lost: there is nothing to wait for.
  bool is_over() const;
  void synchronize() const;
  // For what is about to go: throws nothing, and leaves failures of the device to others.
  void wait_quietly() const noexcept;
  double milliseconds_until(const Event& end) const;

  DeviceIndex device() const { return device_; }
  plug_event handle() const { return handle_; }

 private:
  DeviceIndex device_;
  bool with_timing_;
  // Throws for an event whose latest record was made in a capture.
  void refuse_captured(const char* what) const;

  plug_event handle_ = nullptr;
  bool is_recorded_ = false;
  bool is_captured_ = false;        // the latest record was made in a capture:
  std::weak_ptr<Capture> capture_;  // this one
  std::chrono::steady_clock::time_point recorded_at_;
};

}  // namespace torchplug::runtime
