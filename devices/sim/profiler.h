#pragma once
// What the streams did and when, for as long as the host asks for it: the table L4.
// While nobody records, putting work on a stream costs one more branch. Any thread may call anything.

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "activity.h"
#include "stream.h"
#include "torchplug/plug.h"

namespace torchplug::sim {

extern const plug_profiler kProfiler;

// Begun by the thread that enqueues the work, ended by the one that does it.
class Recording {
 public:
  static bool is_on() noexcept { return on_.load(std::memory_order_relaxed); }

  Recording(const Stream& stream, const Activity& activity) noexcept;
  // Of a piece of a replay, which has the label of that.
  Recording(const Stream& stream, const Activity& activity, std::uint64_t label) noexcept;
  static std::uint64_t label() noexcept;
  // Runs the work and keeps when that was.
  template <class Work>
  void run(Work& work) noexcept {
    begin();
    work();
    end();
  }

 private:
  friend struct Switch;
  void begin() noexcept;
  void end() noexcept;

  static std::atomic<bool> on_;
  plug_record record_{};
};

// Work that is too large for a task together with its record.
template <class Work>
class RecordedWork {
 public:
  template <class Given>
  RecordedWork(const Recording& recording, Given&& work)
      : kept_(std::make_unique<Kept>(Kept{recording, std::forward<Given>(work)})) {}

  void operator()() noexcept { kept_->recording.run(kept_->work); }
  void release() noexcept {
    if constexpr (requires(Work& work) { work.release(); }) kept_->work.release();
  }

 private:
  struct Kept {
    Recording recording;
    Work work;
  };
  std::unique_ptr<Kept> kept_;
};

// stream.enqueue(work), recorded if anybody records. What is captured is recorded when it is replayed.
template <class Work>
Marker enqueue(Stream& stream, const Activity& activity, Work&& work) {
  if (!Recording::is_on() || stream.captures()) [[likely]]
    return stream.enqueue(std::forward<Work>(work), activity);
  using Stored = std::remove_cvref_t<Work>;
  return stream.enqueue(RecordedWork<Stored>(Recording(stream, activity), std::forward<Work>(work)));
}

// For work that the calling thread does for the stream.
template <class Work>
void run_here(const Stream& stream, const Activity& activity, Work& work) {
  if (!Recording::is_on()) [[likely]]
    return work();
  Recording(stream, activity).run(work);
}

}  // namespace torchplug::sim
