#include "lane.h"

#include <algorithm>

#include "profiler.h"

namespace torchplug::sim {
namespace {

void merge(Clock& into, const Clock& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

}  // namespace

Lane::~Lane() {
  for (Segment& segment : segments_) {
    for (Task& task : segment.tasks) task.drop();
  }
}

void Lane::open_segment() {
  segments_.emplace_back();
  is_closed_ = false;
}

Clock Lane::close_segment() {
  is_closed_ = true;
  Clock moment = known_;
  if (moment.size() <= place_) moment.resize(place_ + 1);
  moment[place_] = segments_.size();
  return moment;
}

void Lane::wait_for(const Clock& moment) {
  open_segment();
  Clock& waits = segments_.back().waits;
  waits = moment;
  if (place_ < waits.size()) waits[place_] = 0;  // its own work comes in order
  merge(known_, moment);
}

bool Lane::is_done_at(const Clock& moment) const noexcept {
  const std::size_t done = place_ < moment.size() ? moment[place_] : 0;
  return std::all_of(segments_.begin() + static_cast<std::ptrdiff_t>(done), segments_.end(),
                     [](const Segment& segment) { return segment.tasks.empty(); });
}

void Lane::run_recorded(Segment& segment, const Stream& stream, std::uint64_t label) noexcept {
  for (std::size_t i = 0; i < segment.tasks.size(); ++i) {
    auto work = [&task = segment.tasks[i]]() noexcept { task.repeat(); };
    if (segment.activities[i].kind == 0) {
      work();
    } else {
      Recording(stream, segment.activities[i], label).run(work);
    }
  }
}

void Lane::run(std::uint64_t replay, const std::deque<Lane>& lanes, const Stream& stream,
               std::uint64_t label) noexcept {
  std::uint64_t done = replay * segments_.size();
  for (Segment& segment : segments_) {
    for (std::size_t i = 0; i < segment.waits.size(); ++i) {
      const std::uint64_t awaited = segment.waits[i];
      if (awaited != 0) lanes[i].progress_.wait(replay * lanes[i].segments_.size() + awaited);
    }
    if (Recording::is_on()) [[unlikely]] {
      run_recorded(segment, stream, label);
    } else {
      for (Task& task : segment.tasks) task.repeat();
    }
    progress_.advance_to(++done);
  }
}

}  // namespace torchplug::sim
