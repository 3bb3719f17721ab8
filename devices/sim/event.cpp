#include "event.h"

#include <chrono>

#include "profiler.h"

namespace torchplug::sim {

void Event::record(Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (timing_) {
    const std::uint64_t record = records_ + 1;
    latest_ = stream.enqueue([self = shared_from_this(), record]() noexcept { self->stamp(record); });
    records_ = record;
  } else {
    // Nothing to run: the stream counts its tasks, and that count is the record.
    latest_ = stream.now();
  }
}

void Event::make_wait(Stream& stream) const {
  Marker marker = latest();
  if (marker.reached() || stream.owns(marker)) return;
  enqueue(stream, {.kind = PLUG_RECORD_WAIT}, [marker = std::move(marker)]() noexcept { marker.wait(); });
}

Marker Event::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

std::optional<std::int64_t> Event::time() const {
  const std::lock_guard lock(mutex_);
  if (records_ == 0 || stamped_ != records_) return std::nullopt;
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
