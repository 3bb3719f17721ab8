#pragma once
// The records of an event that several processes have: memory they all map. Records are
// numbered; each has a slot that tells when it was reached, so that one made later, on a faster stream,
// does not stand for one made before. Any thread of any of the processes may call anything.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mapping.h"

namespace torchplug::sim {

class SharedRecords {
 public:
  SharedRecords();                 // a new event, never recorded
  explicit SharedRecords(int fd);  // one of another process; leaves the descriptor open

  // A new record, which finish() is to be called with. Fails if too many are pending.
  std::uint64_t begin();
  void finish(std::uint64_t record) noexcept;

  // The latest record of any process; 0 if there is none.
  std::uint64_t latest() const noexcept;
  // A record whose process has ended will not be reached any more: it counts as finished, with a warning.
  bool is_finished(std::uint64_t record) noexcept;
  void wait(std::uint64_t record) noexcept;

  const MemoryFile& file() const noexcept { return file_; }

 private:
  struct Slot {
    std::atomic<std::uint64_t> finished;  // the latest record of this slot that was reached
    std::atomic<std::uint64_t> maker;     // of its latest record: the record's number << 32 | the process
  };
  // More records than a program has pending; memory is committed for those that are used.
  static constexpr std::size_t kSlots = 1 << 16;
  struct Page {
    std::atomic<std::uint64_t> latest;
    std::atomic<std::uint32_t> changes;  // what sleepers watch
    Slot slots[kSlots];
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share no locks");

  bool is_reached(std::uint64_t record) const noexcept;
  bool is_lost(std::uint64_t record) const noexcept;

  Page& page() const noexcept { return *reinterpret_cast<Page*>(mapping_.address()); }
  Slot& slot(std::uint64_t record) const noexcept { return page().slots[record % kSlots]; }

  const MemoryFile file_;
  const Mapping mapping_;
};

}  // namespace torchplug::sim
