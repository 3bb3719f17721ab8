#pragma once
// A queue of work and the thread that does it, in order; the thread starts with the first task. While a
// stream captures, its work goes into a lane of the capture and nothing is done.
// Shared by its plug_stream handle, its Device and its thread, and gone when the last lets go.
// Any thread may call anything, except that tasks themselves must not wait for their own stream.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "lane.h"
#include "progress.h"
#include "task_queue.h"
#include "torchplug/plug.h"

namespace torchplug::sim {

// A moment in a stream: all work given to it up to then. The default is the moment before all work.
struct Marker {
  std::shared_ptr<const Progress> progress;
  std::uint64_t sequence = 0;

  bool reached() const noexcept { return !progress || progress->reached(sequence); }
  void wait() const noexcept {
    if (progress) progress->wait(sequence);
  }
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // `name` becomes the thread's, which has room for 15 characters.
  Stream(std::string name, bool high_priority, std::int32_t device);

  // What the host knows it by.
  std::int32_t device() const noexcept { return device_; }
  plug_stream handle() const noexcept { return handle_; }
  void set_handle(plug_stream handle) noexcept { handle_ = handle; }

  // Runs `work` on the stream's thread after all work enqueued before. If this throws, `work` was
  // not taken. Gives the moment at which it is done. `activity`: for what is captured.
  template <class Work>
  Marker enqueue(Work&& work, const Activity& activity = {}) {
    const std::lock_guard lock(producers_);
    if (Lane* lane = lane_.load(std::memory_order_relaxed)) [[unlikely]] {
      lane->add(activity, std::forward<Work>(work));
      return {};
    }
    start_if_new();
    return push(std::forward<Work>(work));
  }

  // The end of all work enqueued so far.
  Marker now() const noexcept { return {finished_, enqueued_.value()}; }

  bool is_idle() const noexcept {
    const std::uint64_t enqueued = enqueued_.value();
    return finished_->reached(enqueued);
  }
  void synchronize() const noexcept { finished_->wait(enqueued_.value()); }
  bool owns(const Marker& marker) const noexcept { return marker.progress == finished_; }

  // The capture it takes part in, or nothing.
  std::shared_ptr<Capture> capture() const;
  bool captures() const noexcept { return lane_.load(std::memory_order_acquire) != nullptr; }
  // Begins to take part, with a lane of the capture's, or ends it with null.
  void set_lane(Lane* lane);

  // No work follows. What is enqueued still runs, and then the thread ends. Does not wait.
  void close();
  bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  const std::string& name() const noexcept { return name_; }
  bool has_high_priority() const noexcept { return high_priority_; }

 private:
  void start_if_new();
  void run() noexcept;

  // Under producers_, with the worker started.
  template <class Work>
  Marker push(Work&& work) {
    queue_->push(std::forward<Work>(work));
    const std::uint64_t sequence = enqueued_.value() + 1;
    enqueued_.advance_to(sequence);
    return {finished_, sequence};
  }

  const std::string name_;
  const bool high_priority_;
  const std::int32_t device_;
  plug_stream handle_ = nullptr;  // NULL for the default stream

  mutable std::mutex producers_;      // makes them one; guards starting, closing and what lane_ points at
  std::unique_ptr<TaskQueue> queue_;  // made when the worker starts
  Progress enqueued_;
  const std::shared_ptr<Progress> finished_;  // events outlive the stream and need it
  std::atomic<bool> closed_{false};
  std::atomic<Lane*> lane_{nullptr};
};

}  // namespace torchplug::sim
