#include "memory/statistics.h"

#include <algorithm>

#include "base/torch_compat.h"

namespace torchplug::memory {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using Kind = Statistics::Kind;

void change(Stat& stat, int64_t by) {
  if (by > 0) stat.increase(static_cast<size_t>(by));
  if (by < 0) stat.decrease(static_cast<size_t>(-by));
}

void change(StatArray& stats, Kind kind, int64_t by) {
  change(stats[static_cast<size_t>(Kind::AGGREGATE)], by);
  change(stats[static_cast<size_t>(kind)], by);
}

int64_t signed_of(size_t bytes) { return static_cast<int64_t>(bytes); }

}  // namespace

// ---- what the caches change ----

template <class Function>
void Statistics::for_each_small_stat(const Function& function) {
  const auto each = [&](StatArray& stats, Number number) {
    function(stats[static_cast<size_t>(Kind::AGGREGATE)], number);
    function(stats[static_cast<size_t>(Kind::SMALL_POOL)], number);
  };
  each(values_.allocation, kBlocks);
  each(values_.active, kBlocks);
  each(values_.allocated_bytes, kBytes);
  each(values_.active_bytes, kBytes);
  each(values_.requested_bytes, kRequested);
  each(values_.inactive_split, kSplits);
  each(values_.inactive_split_bytes, kSplitBytes);
}

Statistics::Values& Statistics::enter() {
  for_each_small_stat([this](Stat& stat, Number number) {
    const int64_t sum = limits_[number] - changes_[number].room;
    stat.current += sum;
    stat.allocated += changes_[number].risen;
    stat.freed += changes_[number].risen - sum;
    stat.peak = std::max(stat.peak, stat.current);
  });
  changes_.fill({});
  limits_.fill(0);
  return values_;
}

void Statistics::renew_limits() {
  enter();
  limits_.fill(std::numeric_limits<int64_t>::max());
  for_each_small_stat([this](const Stat& stat, Number number) {
    limits_[number] = std::min(limits_[number], stat.peak - stat.current);
  });
  for (size_t number = 0; number < kNumbers; ++number) changes_[number].room = limits_[number];
}

// ---- all other changes ----

void Statistics::count_allocation(Kind kind, const Block& block) {
  Values& values = enter();
  change(values.allocation, kind, 1);
  change(values.allocated_bytes, kind, signed_of(block.bytes));
  change(values.active, kind, 1);
  change(values.active_bytes, kind, signed_of(block.bytes));
  change(values.requested_bytes, kind, signed_of(block.requested));
  if (block.bytes >= max_split_size) values.oversize_allocations.increase(1);
}

void Statistics::count_free_request(Kind kind, const Block& block) {
  Values& values = enter();
  change(values.allocation, kind, -1);
  change(values.allocated_bytes, kind, -signed_of(block.bytes));
  if (block.bytes >= max_split_size) values.oversize_allocations.decrease(1);
}

void Statistics::count_free_completion(Kind kind, const Block& block) {
  Values& values = enter();
  change(values.active, kind, -1);
  change(values.active_bytes, kind, -signed_of(block.bytes));
  change(values.requested_bytes, kind, -signed_of(block.requested));
}

void Statistics::change_inactive_splits(Kind kind, const InactiveSplits& by) {
  Values& values = enter();
  change(values.inactive_split, kind, by.count);
  change(values.inactive_split_bytes, kind, by.bytes);
}

void Statistics::change_reserved(Kind kind, c10::MempoolId_t pool, int64_t bytes, int64_t segments) {
  change(values_.segment, kind, segments);
  change(values_.reserved_bytes, kind, bytes);
  if (pool == c10::MempoolId_t{0, 0}) return;
  StatArray* reserved = compat::reserved_bytes_of_private_pool(values_, pool);
  if (reserved != nullptr) change(*reserved, kind, bytes);
}

void Statistics::change_oversize_segments(int64_t by) { change(values_.oversize_segments, by); }

// ---- resetting ----

template <class Function>
void Statistics::for_each_stat(const Function& function) {
  Values& values = enter();
  const auto each = [&](StatArray& stats) {
    for (Stat& stat : stats) function(stat);
  };
  for (StatArray* stats : {&values.allocation, &values.segment, &values.active, &values.inactive_split,
                           &values.allocated_bytes, &values.reserved_bytes, &values.active_bytes,
                           &values.inactive_split_bytes, &values.requested_bytes}) {
    each(*stats);
  }
  compat::for_each_private_pool(values, each);
  function(values.oversize_allocations);
  function(values.oversize_segments);
}

void Statistics::reset_accumulated() {
  for_each_stat([](Stat& stat) { stat.reset_accumulated(); });
  values_.num_alloc_retries = 0;
  values_.num_ooms = 0;
  values_.num_sync_all_streams = 0;
  values_.num_device_alloc = 0;
  values_.num_device_free = 0;
}

void Statistics::reset_peaks() {
  for_each_stat([](Stat& stat) { stat.reset_peak(); });
}

}  // namespace torchplug::memory
