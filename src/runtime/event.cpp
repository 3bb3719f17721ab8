#include "runtime/event.h"

#include <c10/util/Exception.h>

#include "runtime/capture.h"
#include "runtime/failure.h"
#include "runtime/submit.h"

namespace torchplug::runtime {
namespace {

using R = plug_runtime;

}  // namespace

Event::Event(DeviceIndex device, bool with_timing) : device_(device), with_timing_(with_timing) {
  ensure_open(device);
  if (!has_streams(device)) return;
  const uint32_t flags = with_timing ? PLUG_EVENT_TIMING : 0;
  call_plugin<&R::event_create>(device, flags, &handle_);
}

Event::~Event() {
  if (handle_ != nullptr && may_give_back(device_)) ask_plugin<&R::event_destroy>(device_, handle_);
}

void Event::record(const Stream& stream) {
  TORCH_CHECK(stream.device() == device_, "An event of device ", int{device_},
              " cannot be recorded on a stream of device ", int{stream.device()}, ".");
  ensure_open(device_);
  recorded_at_ = std::chrono::steady_clock::now();
  if (handle_ == nullptr) return;
  call_plugin<&R::event_record>(device_, handle_, stream.handle());
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
  const Work wait{.kind = Work::Kind::kWait,
                  .stream = stream,
                  .function = "event_wait",
                  .may_decline = stream.device() != device_};
  const plug_status status = submit(wait, [&](uint64_t /*number*/) {
    return ask_plugin<&R::event_wait>(device_, handle_, plugin_index(stream.device()), stream.handle());
  });
  if (C10_LIKELY(status == PLUG_OK)) return;
  // Events of the one device mean nothing to the other: what the thread enqueues there later comes later.
  refuse_in_capture(stream,
                    "Waiting for an event of another device, which its plugin leaves to the calling thread,",
                    "Wait for it before the capture.");
  synchronize();
}

void Event::refuse_captured(const char* what) const {
  if (C10_LIKELY(!is_captured_)) return;
  const auto capture = capture_.lock();
  if (capture != nullptr && capture->is_active()) {
    capture->refuse(
        std::string(what) +
        " cannot be done in the capture that recorded it. Do it before the capture or after a replay.");
  }
  TORCH_CHECK(false, "The event was recorded in a graph capture and is not valid outside of it. ",
              "Record it again.");
}

bool Event::is_ready() const {
  ensure_open(device_);
  refuse_captured("Querying an event");
  if (handle_ == nullptr) return true;
  const plug_status status = ask_plugin<&R::event_query>(device_, handle_);
  if (status == PLUG_NOT_READY) return false;
  check(status, "event_query", device_);
  return true;
}

bool Event::is_over() const { return is_lost(device_) || is_ready(); }

void Event::synchronize() const {
  ensure_open(device_);
  refuse_wait_in_job();
  refuse_captured("Waiting for an event");
  if (handle_ != nullptr) {
    const Stream stream = Stream::default_of(device_);
    const Work wait{.kind = Work::Kind::kSync, .stream = stream, .function = "event_sync"};
    check(observe(wait, [&] { return ask_plugin<&R::event_sync>(device_, handle_); }), "event_sync", device_);
  }
  finish_wait(device_);
}

void Event::wait_quietly() const noexcept {
  if (handle_ != nullptr && is_open(device_)) ask_plugin<&R::event_sync>(device_, handle_);
}

double Event::milliseconds_until(const Event& end) const {
  TORCH_CHECK(with_timing_ && end.with_timing_,
              "elapsed_time needs two events made with enable_timing=True.");
  if (handle_ == nullptr) {
    return std::chrono::duration<double, std::milli>(end.recorded_at_ - recorded_at_).count();
  }
  TORCH_CHECK(plugin_has<&R::event_elapsed>(device_), "Device '", device_type_name(),
              "' cannot time events: its plugin has no event_elapsed.");
  int64_t nanoseconds = 0;
  call_plugin<&R::event_elapsed>(device_, handle_, end.handle_, &nanoseconds);
  return static_cast<double>(nanoseconds) * 1e-6;
}

}  // namespace torchplug::runtime
