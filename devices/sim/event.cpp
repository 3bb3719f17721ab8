#include "event.h"

#include <chrono>

#include "error.h"
#include "profiler.h"

namespace torchplug::sim {

void Event::record(Stream& stream) {
  if (shared_) {
    const std::uint64_t record = shared_->begin();
    stream.enqueue([shared = shared_, record]() noexcept { shared->finish(record); });
    return;
  }
  const std::lock_guard lock(mutex_);
  if (const auto capture = stream.capture()) {
    captured_ = capture->mark(stream);
    return;
  }
  captured_.reset();
  if (timing_) {
    const std::uint64_t record = records_ + 1;
    latest_ = stream.enqueue([self = shared_from_this(), record]() noexcept { self->stamp(record); });
    records_ = record;
  } else {
    // Nothing to run: the stream counts its tasks, and that count is the record.
    latest_ = stream.now();
  }
}

void Event::make_wait(Stream& stream, std::int32_t device) const {
  if (shared_) {
    const std::uint64_t record = shared_->latest();
    if (shared_->is_finished(record)) return;
    stream.enqueue([shared = shared_, record]() noexcept { shared->wait(record); });
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (captured_) {
      Capture::join(stream, device, *captured_);
      return;
    }
  }
  Marker marker = latest();
  if (const auto capture = stream.capture()) {
    if (marker.progress == nullptr) return;
    capture->refuse("waiting for an event that was recorded outside of the capture");
  }
  if (marker.reached() || stream.owns(marker)) return;
  enqueue(stream, {.kind = PLUG_RECORD_WAIT}, [marker = std::move(marker)]() noexcept { marker.wait(); });
}

bool Event::is_reached() const {
  return shared_ ? shared_->is_finished(shared_->latest()) : latest().reached();
}

void Event::wait() const {
  if (shared_) {
    shared_->wait(shared_->latest());
  } else {
    latest().wait();
  }
}

Marker Event::latest() const {
  const std::lock_guard lock(mutex_);
  if (captured_) {
    const auto capture = captured_->capture.lock();
    if (capture && !capture->has_ended()) capture->refuse("querying an event that it recorded");
    fail(PLUG_INVALID,
         "The event was recorded in a capture and is not valid outside of it; record it again.");
  }
  return latest_;
}

std::optional<std::int64_t> Event::time() const {
  const std::lock_guard lock(mutex_);
  if (captured_ || records_ == 0 || stamped_ != records_) return std::nullopt;
  return time_;
}

void Event::stamp(std::uint64_t record) noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::lock_guard lock(mutex_);
  // Records on different streams may run out of order; only the latest one counts.
  if (record != records_) return;
  stamped_ = record;
  time_ = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace torchplug::sim
