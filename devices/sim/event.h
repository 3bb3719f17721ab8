#pragma once
// A moment that streams and threads can wait for. Recording keeps a Marker of the stream; a waiter
// takes a copy of it, so recording again leaves earlier waiters with what they waited for.
// Shared by its plug_event handle and the records that still have to run. Any thread may call
// anything. An event of several processes keeps its records in memory they share instead.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "capture.h"
#include "shared_records.h"
#include "stream.h"

namespace torchplug::sim {

class Event : public std::enable_shared_from_this<Event> {
 public:
  explicit Event(bool timing) noexcept : timing_(timing) {}
  explicit Event(std::shared_ptr<SharedRecords> shared) noexcept
      : timing_(false), shared_(std::move(shared)) {}

  void record(Stream& stream);

  // Work enqueued on `stream`, of device `device`, from now on waits for the latest record. If that was made
  // in a capture, the stream takes part in it from now on.
  void make_wait(Stream& stream, std::int32_t device) const;

  // Whether the latest record has been reached; also if there is none.
  bool is_reached() const;
  void wait() const;

  bool timing() const noexcept { return timing_; }
  // Null unless it was made to be shared with other processes.
  const SharedRecords* shared() const noexcept { return shared_.get(); }

  // Nanoseconds of the steady clock when the latest record ran; nothing if there is none or it has
  // not run.
  std::optional<std::int64_t> time() const;

 private:
  Marker latest() const;
  void stamp(std::uint64_t record) noexcept;

  const bool timing_;
  const std::shared_ptr<SharedRecords> shared_;
  mutable std::mutex mutex_;  // guards what follows; taken before a stream's
  Marker latest_;
  std::optional<Capture::Mark> captured_;  // instead of latest_, for a record made in a capture
  std::uint64_t records_ = 0;
  std::uint64_t stamped_ = 0;  // the record that time_ is of
  std::int64_t time_ = 0;
};

}  // namespace torchplug::sim
