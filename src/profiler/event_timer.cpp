#include "profiler/event_timer.h"

namespace torchplug::profiler {

bool EventTimer::is_possible() {
  return active_module().has_streams() && runtime_table().event_elapsed != nullptr;
}

EventTimer::EventTimer(DeviceIndex device) : device_(device), base_(make_event()) {
  check(runtime_table().stream_create(plugin_index(device), 0, &stream_), "stream_create", device);
  check(runtime_table().event_record(plugin_index(device), base_, stream_), "event_record", device);
  check(runtime_table().event_sync(plugin_index(device), base_), "event_sync", device);
}

// A plugin's refusal to take back what nobody uses any more changes nothing.
EventTimer::~EventTimer() {
  if (!is_open(device_)) return;
  for (const Pending& pending : pending_) {
    runtime_table().event_destroy(plugin_index(device_), pending.before);
    runtime_table().event_destroy(plugin_index(device_), pending.after);
  }
  for (plug_event event : spare_) runtime_table().event_destroy(plugin_index(device_), event);
  runtime_table().event_destroy(plugin_index(device_), base_);
  if (stream_ != nullptr) runtime_table().stream_destroy(plugin_index(device_), stream_);
}

plug_event EventTimer::make_event() const {
  plug_event event = nullptr;
  check(runtime_table().event_create(plugin_index(device_), PLUG_EVENT_TIMING, &event), "event_create",
        device_);
  return event;
}

int64_t EventTimer::now() {
  plug_event event = mark(stream_);
  check(runtime_table().event_sync(plugin_index(device_), event), "event_sync", device_);
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
  check(runtime_table().event_record(plugin_index(device_), event, stream), "event_record", device_);
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
    if (runtime_table().event_query(plugin_index(device_), first.after) == PLUG_NOT_READY) break;
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
  check(runtime_table().event_elapsed(plugin_index(device_), base_, event, &nanoseconds), "event_elapsed",
        device_);
  return nanoseconds;
}

}  // namespace torchplug::profiler
