#pragma once
// The statistics of one device's allocator, as PyTorch defines them: every number and every peak is exact at
// every moment. Belongs to a DeviceMemory, whose lock guards it.
//
// A small block that is allocated from the cache of a stream, or freed to it, changes 14 of them. So these
// changes are collected in five numbers, and entered when somebody looks, when anything else changes, or when
// one of the five rises beyond its limit: up to there no statistic is at a new peak.

#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <limits>

#include "memory/segment.h"

namespace torchplug::memory {

// Free blocks that are parts of segments: a number of them, and their bytes.
struct InactiveSplits {
  int64_t count = 0;
  int64_t bytes = 0;
};

class Statistics {
 public:
  using Values = c10::CachingDeviceAllocator::DeviceStats;
  using Kind = c10::CachingAllocator::StatType;

  static Kind kind_of(bool is_small) { return is_small ? Kind::SMALL_POOL : Kind::LARGE_POOL; }
  static Kind kind_of(const Block& block) { return kind_of(block.segment->is_small); }

  // A small block leaves the cache of its stream, or is freed to it.
  inline void count_cached_allocation(const Block& block);
  inline void count_cached_free(const Block& block);

  // Any other block is allocated and active; then freed, but active while other streams may use it; then
  // neither.
  void count_allocation(Kind kind, const Block& block);
  void count_free_request(Kind kind, const Block& block);
  void count_free_completion(Kind kind, const Block& block);

  void change_inactive_splits(Kind kind, const InactiveSplits& by);
  // `segments`: how many more the plugin has allocated, or fewer.
  void change_reserved(Kind kind, c10::MempoolId_t pool, int64_t bytes, int64_t segments);
  void change_oversize_segments(int64_t by);
  void count(int64_t Values::*number) { ++(values_.*number); }

  const Values& values() { return enter(); }
  int64_t allocated_bytes() { return total(enter().allocated_bytes).current; }
  int64_t reserved_bytes() const { return total(values_.reserved_bytes).current; }
  void reset_accumulated();
  void reset_peaks();

  size_t max_split_size = std::numeric_limits<size_t>::max();  // what counts as oversize

 private:
  using Stat = c10::CachingAllocator::Stat;
  using StatArray = c10::CachingAllocator::StatArray;

  enum Number : size_t { kBlocks, kBytes, kRequested, kSplits, kSplitBytes, kNumbers };
  struct Change {       // since it was last entered
    int64_t room = 0;   // up to its limit
    int64_t risen = 0;  // the sum of all that it rose by
  };

  static const Stat& total(const StatArray& stats) { return stats[static_cast<size_t>(Kind::AGGREGATE)]; }

  // Whether the number is still within its limit.
  bool raise(Number number, size_t by) {
    Change& change = changes_[number];
    change.room -= static_cast<int64_t>(by);
    change.risen += static_cast<int64_t>(by);
    return change.room >= 0;
  }
  void lower(Number number, size_t by) { changes_[number].room += static_cast<int64_t>(by); }

  // Enters the changes. What is done to the values afterwards is exact by itself; the limits are zero.
  Values& enter();
  // Enters the changes and sets new limits: what the fast path does when it reaches one.
  void renew_limits();
  template <class Function>
  void for_each_small_stat(const Function& function);
  template <class Function>
  void for_each_stat(const Function& function);

  std::array<Change, kNumbers> changes_{};
  std::array<int64_t, kNumbers> limits_{};  // the room that each had
  Values values_;
};

void Statistics::count_cached_allocation(const Block& block) {
  if (C10_LIKELY(is_inactive_split(block))) {
    lower(kSplits, 1);
    lower(kSplitBytes, block.bytes);
  }
  bool within = raise(kBlocks, 1);
  within &= raise(kBytes, block.bytes);
  within &= raise(kRequested, block.requested);
  if (C10_UNLIKELY(!within)) renew_limits();
}

void Statistics::count_cached_free(const Block& block) {
  lower(kBlocks, 1);
  lower(kBytes, block.bytes);
  lower(kRequested, block.requested);
  if (C10_UNLIKELY(!is_inactive_split(block))) return;
  bool within = raise(kSplits, 1);
  within &= raise(kSplitBytes, block.bytes);
  if (C10_UNLIKELY(!within)) renew_limits();
}

}  // namespace torchplug::memory
