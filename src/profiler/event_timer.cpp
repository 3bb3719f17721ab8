#include "profiler/event_timer.h"

namespace torchplug::profiler {

bool EventTimer::is_possible(DeviceIndex device) {
  return has_streams(device) && plugin_has<&plug_runtime::event_elapsed>(device);
}

EventTimer::EventTimer(DeviceIndex device) : device_(device), base_(make_event()) {
  call_plugin<&plug_runtime::stream_create>(device, 0, &stream_);
  call_plugin<&plug_runtime::event_record>(device, base_, stream_);
  call_plugin<&plug_runtime::event_sync>(device, base_);
}

// A plugin's refusal to take back what nobody uses any more changes nothing.
EventTimer::~EventTimer() {
  if (!is_open(device_)) return;
  for (const Pending& pending : pending_) {
    ask_plugin<&plug_runtime::event_destroy>(device_, pending.before);
    ask_plugin<&plug_runtime::event_destroy>(device_, pending.after);
  }
  for (plug_event event : spare_) ask_plugin<&plug_runtime::event_destroy>(device_, event);
  ask_plugin<&plug_runtime::event_destroy>(device_, base_);
  if (stream_ != nullptr) ask_plugin<&plug_runtime::stream_destroy>(device_, stream_);
}

plug_event EventTimer::make_event() const {
  plug_event event = nullptr;
  call_plugin<&plug_runtime::event_create>(device_, PLUG_EVENT_TIMING, &event);
  return event;
}

int64_t EventTimer::now() {
  plug_event event = mark(stream_);
  call_plugin<&plug_runtime::event_sync>(device_, event);
  const int64_t nanoseconds = since_base(event);
  give_back(event);
  return nanoseconds;
}

plug_event EventTimer::mark(plug_stream stream) {
  plug_event event = nullptr;
  {
    std::lock_guard lock(events_lock_);
    if (!spare_.empty()) {
      event = spare_.back();
      spare_.pop_back();
    }
  }
  if (event == nullptr) event = make_event();
  call_plugin<&plug_runtime::event_record>(device_, event, stream);
  return event;
}

void EventTimer::keep(uint32_t launch, plug_event before, plug_event after) {
  std::lock_guard lock(events_lock_);
  pending_.push_back({launch, before, after});
}

void EventTimer::give_back(plug_event event) {
  std::lock_guard lock(events_lock_);
  spare_.push_back(event);
}

// The plugin is asked outside the lock: a launch that holds the plugin's lock may be waiting for ours.
std::vector<EventTimer::Span> EventTimer::collect() {
  std::deque<Pending> pending;
  {
    std::lock_guard lock(events_lock_);
    pending.swap(pending_);
  }
  std::vector<Span> spans;
  while (!pending.empty()) {
    const Pending& first = pending.front();
    if (ask_plugin<&plug_runtime::event_query>(device_, first.after) == PLUG_NOT_READY) break;
    spans.push_back({first.launch, since_base(first.before), since_base(first.after)});
    give_back(first.before);
    give_back(first.after);
    pending.pop_front();
  }
  std::lock_guard lock(events_lock_);
  pending_.insert(pending_.begin(), pending.begin(), pending.end());
  return spans;
}

int64_t EventTimer::since_base(plug_event event) const {
  int64_t nanoseconds = 0;
  call_plugin<&plug_runtime::event_elapsed>(device_, base_, event, &nanoseconds);
  return nanoseconds;
}

}  // namespace torchplug::profiler
