#pragma once
// When work on a device began and ended, by events with timing around it, for a plugin without a profiler of
// its own. Times are nanoseconds from an event of the timer's own. Used by one DeviceTrace, from any thread.

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "runtime/device.h"

namespace torchplug::profiler {

class EventTimer {
 public:
  // Whether the active plugin can time events.
  static bool is_possible();

  explicit EventTimer(DeviceIndex device);
  ~EventTimer();
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  // Now, on the device, whatever its other streams are busy with: records an event and waits for it.
  int64_t now();

  // Before and after the launch, on its stream.
  plug_event mark(plug_stream stream);
  void keep(uint32_t launch, plug_event before, plug_event after);
  // For an event whose launch came to nothing.
  void give_back(plug_event event);

  struct Span {
    uint32_t launch;
    int64_t start;
    int64_t end;
  };
  // Of what has ended; each once, in the order of keep().
  std::vector<Span> collect();

 private:
  struct Pending {
    uint32_t launch;
    plug_event before;
    plug_event after;
  };

  plug_event make_event() const;
  int64_t since_base(plug_event event) const;

  DeviceIndex device_;
  plug_stream stream_ = nullptr;  // of its own: never behind anybody's work
  plug_event base_ = nullptr;

  std::mutex events_lock_;  // guards what follows
  std::deque<Pending> pending_;
  std::vector<plug_event> spare_;
};

}  // namespace torchplug::profiler
