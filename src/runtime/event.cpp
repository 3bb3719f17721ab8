#include "runtime/event.h"

#include <c10/util/Exception.h>

#include "runtime/capture.h"
#include "runtime/failure.h"
#include "runtime/launch_trace.h"

namespace torchplug::runtime {

Event::Event(DeviceIndex device, bool with_timing) : device_(device), with_timing_(with_timing) {
  ensure_open(device);
  if (!active_module().has_streams()) return;
  const uint32_t flags = with_timing ? PLUG_EVENT_TIMING : 0;
  check(runtime_table().event_create(plugin_index(device), flags, &handle_), "event_create", device);
}

Event::~Event() {
  if (handle_ != nullptr && may_give_back(device_))
    runtime_table().event_destroy(plugin_index(device_), handle_);
}

void Event::record(const Stream& stream) {
  TORCH_CHECK(stream.device() == device_, "An event of device ", int{device_},
              " cannot be recorded on a stream of device ", int{stream.device()}, ".");
  ensure_open(device_);
  recorded_at_ = std::chrono::steady_clock::now();
  if (handle_ == nullptr) return;
  check(runtime_table().event_record(plugin_index(device_), handle_, stream.handle()), "event_record",
        device_);
  const auto capture = capture_of(stream);
  is_recorded_ = true;
  is_captured_ = capture != nullptr;
  capture_ = capture;
}

void Event::block(const Stream& stream) const {
  ensure_open(device_);
  ensure_open(stream.device());
  if (handle_ == nullptr) return;
  if (C10_UNLIKELY(is_captured_)) {
    const auto capture = capture_.lock();
    TORCH_CHECK(capture != nullptr && capture->is_active(),
                "The event was recorded in the capture of a graph, which has ended. Record it again.");
    capture->join(stream);
  } else if (is_recorded_) {
    refuse_in_capture(stream, "Waiting for an event that was recorded outside of the capture",
                      "Wait for it before the capture, or record it in the capture.");
  }
  plug_stream queue = stream.handle();
  const auto describe = [&] {
    return Launch{.kind = Launch::Kind::kWait, .stream = stream, .handle = queue, .call = "event_wait"};
  };
  check(launch(describe,
               [&] {
                 return runtime_table().event_wait(plugin_index(device_), handle_,
                                                   plugin_index(stream.device()), queue);
               }),
        "event_wait", device_);
}

void Event::refuse_captured(const char* what) const {
  if (C10_LIKELY(!is_captured_)) return;
  const auto capture = capture_.lock();
  if (capture != nullptr && capture->is_active()) {
    capture->refuse(
        std::string(what) +
        " cannot be done in the capture that recorded it. Do it before the capture or after a replay.");
  }
  TORCH_CHECK(false, "The event was recorded in the capture of a graph and marks nothing outside of it. ",
              "Record it again.");
}

bool Event::is_ready() const {
  ensure_open(device_);
  refuse_captured("Asking for an event");
  if (handle_ == nullptr) return true;
  const plug_status status = runtime_table().event_query(plugin_index(device_), handle_);
  if (status == PLUG_NOT_READY) return false;
  check(status, "event_query", device_);
  return true;
}

bool Event::is_over() const { return is_lost(device_) || is_ready(); }

void Event::synchronize() const {
  ensure_open(device_);
  refuse_captured("Waiting for an event");
  if (handle_ != nullptr) {
    const auto describe = [&] {
      return Launch{.kind = Launch::Kind::kSync,
                    .stream = Stream::default_of(device_),
                    .handle = nullptr,
                    .call = "event_sync"};
    };
    check(launch(describe, [&] { return runtime_table().event_sync(plugin_index(device_), handle_); }),
          "event_sync", device_);
  }
  throw_recorded_failure(device_);
}

void Event::wait_quietly() const noexcept {
  if (handle_ != nullptr && is_open(device_)) runtime_table().event_sync(plugin_index(device_), handle_);
}

double Event::milliseconds_until(const Event& end) const {
  TORCH_CHECK(with_timing_ && end.with_timing_,
              "elapsed_time needs two events made with enable_timing=True.");
  if (handle_ == nullptr) {
    return std::chrono::duration<double, std::milli>(end.recorded_at_ - recorded_at_).count();
  }
  TORCH_CHECK(runtime_table().event_elapsed != nullptr, "Device '", active_module().name,
              "' cannot time events: its plugin has no event_elapsed.");
  int64_t nanoseconds = 0;
  check(runtime_table().event_elapsed(plugin_index(device_), handle_, end.handle_, &nanoseconds),
        "event_elapsed", device_);
  return static_cast<double>(nanoseconds) * 1e-6;
}

}  // namespace torchplug::runtime
