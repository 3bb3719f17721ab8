#pragma once
// The small free blocks of one stream, by exact size, ready to be given out again: all that the quick way of
// the allocator touches. Each stream has a shelf, a lock and numbers of its own, so that streams used by
// different threads share nothing. Belongs to a BlockPool; Books adds the numbers up.
//
// A number may rise up to its limit. Beyond that the operation goes the slow way, where Books finds out
// whether the device has reached a new peak; an exclusive shelf, the only one in use, raises its limits
// itself, and they say how far its numbers rose.

#include <c10/macros/Macros.h>

#include <array>
#include <limits>
#include <mutex>

#include "base/spin_lock.h"
#include "memory/block.h"

namespace torchplug::memory {

class alignas(64) Shelf {
 public:
  explicit Shelf(bool is_expandable) : is_expandable_(is_expandable) {}
  enum Number : size_t { kCount, kBytes, kRequested, kIdleCount, kIdleBytes, kNumbers };
  using Numbers = std::array<int64_t, kNumbers>;

  static constexpr size_t kPlaces = 2049;                       // sizes of 0 to 2048 units
  static constexpr int64_t kMostIdleBytes = int64_t{32} << 20;  // beyond that blocks go back to the heap
  static constexpr int64_t kOpen = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kClosed = std::numeric_limits<int64_t>::min();

  // A block of exactly `bytes` bytes, which is `place` units, or nothing.
  inline Block* take(size_t place, size_t bytes, size_t requested);
  // Whether the block could be put back.
  inline bool give(Block* block, size_t place);
  bool is_expandable() const { return is_expandable_; }

 private:
  friend class Books;

  inline bool may_rise(Number first, Number last, const Numbers& by);
  bool raise_limits(Number first, Number last, const Numbers& by);
  void apply(const Numbers& change);
  // Takes off every block of at least so many units.
  std::vector<Block*> clear(size_t from);
  std::vector<Block*> blocks(size_t from) const;

  SpinLock lock_;
  bool is_exclusive_ = false;
  // Whether its blocks lie in expandable segments, which can always be given back in part.
  const bool is_expandable_;
  Numbers now_{};  // held by users: count, bytes, requested bytes; on the shelf: count, bytes
  Numbers limit_ = {kClosed, kClosed, kClosed, kClosed, kClosed};
  Numbers risen_{};  // the sum of all that each number ever rose by

  // What Books knew when it last looked, with its lock.
  Numbers seen_{};
  Numbers seen_risen_{};
  Numbers highest_{};

  std::array<Block*, kPlaces> places_{};
};

bool Shelf::may_rise(Number first, Number last, const Numbers& by) {
  bool within = true;
  for (size_t i = first; i <= last; ++i) within &= now_[i] + by[i] <= limit_[i];
  return C10_LIKELY(within) || raise_limits(first, last, by);
}

Block* Shelf::take(size_t place, size_t bytes, size_t requested) {
  const auto size = static_cast<int64_t>(bytes);
  const Numbers change = {1, size, static_cast<int64_t>(requested), -1, -size};
  std::lock_guard guard(lock_);
  Block* block = places_[place];
  if (C10_UNLIKELY(block == nullptr) || !may_rise(kCount, kRequested, change)) return nullptr;
  places_[place] = block->next;
  for (size_t i = 0; i < kNumbers; ++i) now_[i] += change[i];
  for (size_t i = kCount; i <= kRequested; ++i) risen_[i] += change[i];
  block->requested = requested;
  return block;
}

bool Shelf::give(Block* block, size_t place) {
  const auto size = static_cast<int64_t>(block->bytes);
  const Numbers change = {-1, -size, -static_cast<int64_t>(block->requested), 1, size};
  std::lock_guard guard(lock_);
  if (!may_rise(kIdleCount, kIdleBytes, change)) return false;
  block->next = places_[place];
  places_[place] = block;
  for (size_t i = 0; i < kNumbers; ++i) now_[i] += change[i];
  for (size_t i = kIdleCount; i <= kIdleBytes; ++i) risen_[i] += change[i];
  return true;
}

}  // namespace torchplug::memory
