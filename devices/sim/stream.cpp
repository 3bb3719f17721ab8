#include "stream.h"

#include "capture.h"
#include "worker.h"

namespace torchplug::sim {

Stream::Stream(std::string name, bool high_priority, std::int32_t device)
    : name_(std::move(name)),
      high_priority_(high_priority),
      device_(device),
      finished_(std::make_shared<Progress>()) {}

std::shared_ptr<Capture> Stream::capture() const {
  if (!captures()) return nullptr;
  const std::lock_guard lock(producers_);
  const Lane* lane = lane_.load(std::memory_order_relaxed);
  return lane == nullptr ? nullptr : lane->capture().shared_from_this();
}

void Stream::set_lane(Lane* lane) {
  const std::lock_guard lock(producers_);
  lane_.store(lane, std::memory_order_release);
}

void Stream::close() {
  const std::lock_guard lock(producers_);
  if (!queue_) {
    closed_.store(true, std::memory_order_release);
    return;
  }
  push([this]() noexcept { closed_.store(true, std::memory_order_release); });
}

void Stream::start_if_new() {
  if (queue_) return;
  queue_ = std::make_unique<TaskQueue>();
  try {
    start_worker(name_, [self = shared_from_this()] { self->run(); });
  } catch (...) {
    queue_ = nullptr;
    throw;
  }
}

void Stream::run() noexcept {
  Rank rank(high_priority_);
  std::uint64_t done = 0;
  std::uint64_t available = 0;  // read anew only when used up: producers write that cache line
  while (!is_closed()) {
    if (done == available) {
      enqueued_.wait(done + 1);
      available = enqueued_.value();
    }
    rank.take();
    queue_->run_next();
    finished_->advance_to(++done);
  }
}

}  // namespace torchplug::sim
