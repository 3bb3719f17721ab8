#pragma once
// What one stream was given while it captured, in segments: a segment begins by waiting for other lanes
// and ends where an event was recorded. Owned by a Capture. While it captures, the capture's lock guards it;
// afterwards only its progress changes.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "activity.h"
#include "progress.h"
#include "task.h"

namespace torchplug::sim {

class Capture;
class Stream;

// How many segments of each lane have been done at some moment, as far as is known there.
using Clock = std::vector<std::uint64_t>;

class Lane {
 public:
  Lane(Capture& capture, std::mutex& lock, std::shared_ptr<Stream> stream, std::size_t place)
      : capture_(capture), lock_(lock), stream_(std::move(stream)), place_(place) {}
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  Capture& capture() const noexcept { return capture_; }
  Stream& stream() const noexcept { return *stream_; }

  template <class Work>
  void add(const Activity& activity, Work&& work) {
    const std::lock_guard lock(lock_);
    if (is_closed_) open_segment();
    segments_.back().tasks.emplace_back().emplace(std::forward<Work>(work));
    segments_.back().activities.push_back(activity);
  }

  // With the lock held: the moment at which all that was given so far has been done.
  Clock close_segment();
  // With the lock held: what is given from now on waits for that moment.
  void wait_for(const Clock& moment);
  // Whether all its work had been done at that moment.
  bool is_done_at(const Clock& moment) const noexcept;

  // After the capture, in the order of the replays: runs all, as replay number `replay` of them, on `stream`;
  // if anybody records, each task has a record with this label.
  void run(std::uint64_t replay, const std::deque<Lane>& lanes, const Stream& stream,
           std::uint64_t label) noexcept;
  // Waits until it has run that often.
  void wait_for_replays(std::uint64_t count) const noexcept { progress_.wait(count * segments_.size()); }

 private:
  struct Segment {
    Clock waits;  // by lane; 0 for one that is not waited for
    std::deque<Task> tasks;
    std::vector<Activity> activities;  // of the tasks
  };

  void open_segment();
  static void run_recorded(Segment& segment, const Stream& stream, std::uint64_t label) noexcept;

  Capture& capture_;
  std::mutex& lock_;
  const std::shared_ptr<Stream> stream_;
  const std::size_t place_;  // among the lanes
  std::deque<Segment> segments_;
  bool is_closed_ = true;  // the last segment, or there is none
  Clock known_;            // what its work so far has waited for
  Progress progress_;      // in segments, over all replays
};

}  // namespace torchplug::sim
