#include "memory/books.h"

#include <algorithm>
#include <utility>

namespace torchplug::memory {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using Kind = Books::Kind;

constexpr int kAloneLongEnough = 8;

bool is_idle(size_t number) { return number >= Shelf::kIdleCount; }

Stat& of(StatArray& stats, Kind kind) { return stats[static_cast<size_t>(kind)]; }

// Without looking at the peak: that is for when all numbers are known.
void enter(Stat& stat, int64_t change) {
  stat.current += change;
  (change > 0 ? stat.allocated : stat.freed) += change > 0 ? change : -change;
}

void enter(StatArray& stats, Kind kind, int64_t change) {
  enter(of(stats, Kind::AGGREGATE), change);
  enter(of(stats, kind), change);
}

// What a shelf counted: `risen` is the part of it that rose.
void enter_shelf(StatArray& stats, int64_t change, int64_t risen) {
  for (Kind kind : {Kind::AGGREGATE, Kind::SMALL_POOL}) {
    Stat& stat = of(stats, kind);
    stat.current += change;
    stat.allocated += risen;
    stat.freed += risen - change;
  }
}

void note_peak(StatArray& stats, int64_t above) {
  for (Kind kind : {Kind::AGGREGATE, Kind::SMALL_POOL}) {
    Stat& stat = of(stats, kind);
    stat.peak = std::max(stat.peak, stat.current + above);
  }
  Stat& large = of(stats, Kind::LARGE_POOL);
  large.peak = std::max(large.peak, large.current);
}

bool may_be_at_peak(const StatArray& stats, int64_t granted) {
  const auto beyond = [&](Kind kind, int64_t more) {
    const Stat& stat = stats[static_cast<size_t>(kind)];
    return stat.current + more > stat.peak;
  };
  return beyond(Kind::AGGREGATE, granted) || beyond(Kind::SMALL_POOL, granted) || beyond(Kind::LARGE_POOL, 0);
}

// How far the shelves' part of it may rise without a new peak.
int64_t room_in(const StatArray& stats) {
  const auto room = [&](Kind kind) {
    const Stat& stat = stats[static_cast<size_t>(kind)];
    return stat.peak - stat.current;
  };
  return std::min(room(Kind::AGGREGATE), room(Kind::SMALL_POOL));
}

// Every number of a shelf, with the statistics it is part of.
template <class Stats, class Function>
void for_each_shelf_stat(Stats& stats, const Function& function) {
  function(stats.allocation, Shelf::kCount);
  function(stats.active, Shelf::kCount);
  function(stats.allocated_bytes, Shelf::kBytes);
  function(stats.active_bytes, Shelf::kBytes);
  function(stats.requested_bytes, Shelf::kRequested);
  function(stats.inactive_split, Shelf::kIdleCount);
  function(stats.inactive_split_bytes, Shelf::kIdleBytes);
}

template <class Stats, class Function>
void for_each_private_pool(Stats& stats, const Function& function) {
  if constexpr (requires { stats.reserved_bytes_by_private_pools; }) {
    for (auto& [id, array] : stats.reserved_bytes_by_private_pools) function(array);
  }
}

template <class Stats>
void enter_private_pool(Stats& stats, Kind kind, c10::MempoolId_t pool, int64_t bytes) {
  if constexpr (requires { stats.reserved_bytes_by_private_pools; }) {
    if (pool == c10::MempoolId_t{0, 0}) return;
    StatArray& array = stats.reserved_bytes_by_private_pools[pool];
    enter(array, kind, bytes);
    note_peak(array, 0);
  }
}

template <class Stats, class Function>
void for_each_stat(Stats& stats, const Function& function) {
  const auto each = [&](StatArray& array) {
    for (Stat& stat : array) function(stat);
  };
  for_each_shelf_stat(stats, [&](StatArray& array, Shelf::Number) { each(array); });
  each(stats.segment);
  each(stats.reserved_bytes);
  for_each_private_pool(stats, each);
  function(stats.oversize_allocations);
  function(stats.oversize_segments);
}

Shelf::Numbers numbers_of(const Block& block, int64_t sign) {
  return {sign, sign * static_cast<int64_t>(block.bytes), sign * static_cast<int64_t>(block.requested), 0, 0};
}

}  // namespace

void Books::permit(bool takes, bool gives) {
  if (may_take_ == takes && may_give_ == gives) return;
  may_take_ = takes;
  may_give_ = gives;
  settle();
}

Block* Books::take_shelved(Shelf& shelf, size_t place, size_t bytes, size_t requested) {
  if (Block* block = shelf.take(place, bytes, requested)) return block;
  Block* block = nullptr;
  {
    std::lock_guard guard(shelf.lock_);
    block = shelf.places_[place];
    if (block == nullptr) return nullptr;
    shelf.places_[place] = block->next;
  }
  block->requested = requested;
  Shelf::Numbers change = numbers_of(*block, 1);
  change[Shelf::kIdleCount] = -1;
  change[Shelf::kIdleBytes] = -static_cast<int64_t>(bytes);
  settle(&shelf, change);
  return block;
}

bool Books::shelve(Shelf& shelf, Block* block, size_t place) {
  if (!may_give_) return false;
  if (shelf.give(block, place)) return true;
  Shelf::Numbers change = numbers_of(*block, -1);
  change[Shelf::kIdleCount] = 1;
  change[Shelf::kIdleBytes] = static_cast<int64_t>(block->bytes);
  {
    std::lock_guard guard(shelf.lock_);
    if (shelf.now_[Shelf::kIdleBytes] + change[Shelf::kIdleBytes] > Shelf::kMostIdleBytes) return false;
    block->next = shelf.places_[place];
    shelf.places_[place] = block;
  }
  settle(&shelf, change);
  return true;
}

void Books::take(Shelf& shelf, const Block& block) {
  const Shelf::Numbers change = numbers_of(block, 1);
  {
    std::lock_guard guard(shelf.lock_);
    if (shelf.may_rise(Shelf::kCount, Shelf::kRequested, change)) {
      shelf.apply(change);
      return;
    }
  }
  settle(&shelf, change);
}

void Books::give(Shelf& shelf, const Block& block) {
  std::lock_guard guard(shelf.lock_);
  shelf.apply(numbers_of(block, -1));
}

void Books::take(Kind kind, const Block& block) {
  const Shelf::Numbers change = numbers_of(block, 1);
  for_each_shelf_stat(stats_, [&](StatArray& stats, Shelf::Number number) {
    if (change[number] != 0) enter(stats, kind, change[number]);
  });
  count_oversize(block, true);
}

void Books::give(Kind kind, const Block& block) {
  const Shelf::Numbers change = numbers_of(block, -1);
  for_each_shelf_stat(stats_, [&](StatArray& stats, Shelf::Number number) {
    if (change[number] != 0) enter(stats, kind, change[number]);
  });
  count_oversize(block, false);
}

void Books::count_oversize(const Block& block, bool taken) {
  if (block.bytes < max_split_size) return;
  if (taken) {
    stats_.oversize_allocations.increase(1);
  } else {
    stats_.oversize_allocations.decrease(1);
  }
}

// It was counted as given back: what it still is, it was never freed as.
void Books::wait(Kind kind, const Block& block, int64_t sign) {
  const auto hold = [&](StatArray& stats, int64_t amount) {
    for (Kind each : {Kind::AGGREGATE, kind}) {
      of(stats, each).current += amount;
      of(stats, each).freed -= amount;
    }
  };
  hold(stats_.active, sign);
  hold(stats_.active_bytes, sign * static_cast<int64_t>(block.bytes));
  hold(stats_.requested_bytes, sign * static_cast<int64_t>(block.requested));
}

// The shelves' own blocks are in the small numbers too.
void Books::set_idle(Kind kind, IdleSplits idle) {
  int64_t shelved = 0;
  int64_t shelved_bytes = 0;
  if (kind == Kind::SMALL_POOL) {
    for (const Shelf* shelf : shelves_) {
      if (shelf->is_expandable()) continue;
      shelved += shelf->seen_[Shelf::kIdleCount];
      shelved_bytes += shelf->seen_[Shelf::kIdleBytes];
    }
  }
  const int64_t count = idle.count + shelved - of(stats_.inactive_split, kind).current;
  const int64_t bytes = idle.bytes + shelved_bytes - of(stats_.inactive_split_bytes, kind).current;
  if (count != 0) enter(stats_.inactive_split, kind, count);
  if (bytes != 0) enter(stats_.inactive_split_bytes, kind, bytes);
}

std::vector<Block*> Books::clear(Shelf& shelf, size_t from, int64_t more_than) {
  std::lock_guard guard(shelf.lock_);
  if (shelf.now_[Shelf::kIdleBytes] <= more_than) return {};
  return shelf.clear(from);
}

void Books::reserve(Kind kind, c10::MempoolId_t pool, int64_t bytes, int64_t segments) {
  if (segments != 0) enter(stats_.segment, kind, segments);
  enter(stats_.reserved_bytes, kind, bytes);
  note_peak(stats_.segment, 0);
  note_peak(stats_.reserved_bytes, 0);
  enter_private_pool(stats_, kind, pool, bytes);
}

void Books::oversize_segment(bool made) {
  if (made) {
    stats_.oversize_segments.increase(1);
  } else {
    stats_.oversize_segments.decrease(1);
  }
}

Books::Stats Books::read() {
  settle();
  return stats_;
}

int64_t Books::allocated_bytes() {
  settle();
  return total(stats_.allocated_bytes).current;
}

void Books::reset_accumulated() {
  settle();
  for_each_stat(stats_, [](Stat& stat) { stat.reset_accumulated(); });
  stats_.num_alloc_retries = 0;
  stats_.num_ooms = 0;
  stats_.num_sync_all_streams = 0;
  stats_.num_device_alloc = 0;
  stats_.num_device_free = 0;
}

void Books::reset_peaks() {
  settle();
  for_each_stat(stats_, [](Stat& stat) { stat.reset_peak(); });
  for (Shelf* shelf : shelves_) shelf->highest_ = shelf->seen_;
  settle();
}

void Books::fold() {
  if (exclusive_ == nullptr) return;
  std::lock_guard guard(exclusive_->lock_);
  Shelf::Numbers above{};
  for (size_t i = 0; i < Shelf::kNumbers; ++i) {
    exclusive_->highest_[i] = std::max(exclusive_->highest_[i], exclusive_->limit_[i]);
    if (is_idle(i) && exclusive_->is_expandable()) continue;
    above[i] = std::max<int64_t>(0, exclusive_->limit_[i] - exclusive_->now_[i]);
  }
  add(*exclusive_);
  note_peaks(above);
  exclusive_->limit_ = exclusive_->now_;
}

void Books::close() {
  if (may_be_at_peak()) settle();
}

void Books::settle(Shelf* asking, const Shelf::Numbers& change) {
  fold();
  const auto locks = lock_shelves();
  if (asking != nullptr) asking->apply(change);
  Shelf* active = nullptr;
  bool several = false;
  for (Shelf* shelf : shelves_) {
    const bool is_active = shelf->risen_ != shelf->seen_risen_ || shelf->now_ != shelf->seen_;
    if (is_active) several |= std::exchange(active, shelf) != nullptr;
    add(*shelf);
  }
  note_peaks({});
  if (active != nullptr) {
    alone_ = !several && active == last_active_ ? alone_ + 1 : 0;
    last_active_ = active;
  }
  grant();
}

std::vector<std::unique_lock<SpinLock>> Books::lock_shelves() {
  std::vector<std::unique_lock<SpinLock>> locks;
  locks.reserve(shelves_.size());
  for (Shelf* shelf : shelves_) locks.emplace_back(shelf->lock_);
  return locks;
}

void Books::add(Shelf& shelf) {
  for_each_shelf_stat(stats_, [&](StatArray& stats, Shelf::Number number) {
    if (is_idle(number) && shelf.is_expandable()) return;
    enter_shelf(stats, shelf.now_[number] - shelf.seen_[number],
                shelf.risen_[number] - shelf.seen_risen_[number]);
  });
  shelf.seen_ = shelf.now_;
  shelf.seen_risen_ = shelf.risen_;
  for (size_t i = 0; i < Shelf::kNumbers; ++i) shelf.highest_[i] = std::max(shelf.highest_[i], shelf.now_[i]);
}

void Books::note_peaks(const Shelf::Numbers& above) {
  for_each_shelf_stat(stats_,
                      [&](StatArray& stats, Shelf::Number number) { note_peak(stats, above[number]); });
}

bool Books::may_be_at_peak() const {
  bool may_be = false;
  for_each_shelf_stat(stats_, [&](const StatArray& stats, Shelf::Number number) {
    may_be |= memory::may_be_at_peak(stats, granted_[number]);
  });
  return may_be;
}

Shelf::Numbers Books::room() const {
  Shelf::Numbers room;
  room.fill(std::numeric_limits<int64_t>::max());
  for_each_shelf_stat(stats_, [&](const StatArray& stats, Shelf::Number number) {
    room[number] = std::min(room[number], room_in(stats));
  });
  return room;
}

// The one that asked last comes first.
void Books::grant() {
  granted_ = {};
  const bool is_alone = shelves_.size() == 1 || alone_ >= kAloneLongEnough;
  exclusive_ = may_take_ && may_give_ && is_alone ? last_active_ : nullptr;
  Shelf::Numbers left = room();
  if (last_active_ != nullptr) grant(*last_active_, left);
  for (Shelf* shelf : shelves_) {
    if (shelf != last_active_) grant(*shelf, left);
  }
}

// As far as it ever rose, if there is room: once the device has seen all shelves at their highest together,
// none of them ever asks again.
void Books::grant(Shelf& shelf, Shelf::Numbers& left) {
  shelf.is_exclusive_ = &shelf == exclusive_;
  for (size_t i = 0; i < Shelf::kNumbers; ++i) {
    if (exclusive_ != nullptr) {
      shelf.limit_[i] = shelf.is_exclusive_ ? shelf.now_[i] : Shelf::kClosed;
    } else if (!(is_idle(i) ? may_give_ : may_take_)) {
      shelf.limit_[i] = Shelf::kClosed;
    } else if (is_idle(i) && shelf.is_expandable()) {
      shelf.limit_[i] = i == Shelf::kIdleBytes ? Shelf::kMostIdleBytes : Shelf::kOpen;
    } else {
      const int64_t more = std::min(shelf.highest_[i] - shelf.now_[i], left[i]);
      shelf.limit_[i] = shelf.now_[i] + more;
      left[i] -= more;
      granted_[i] += more;
    }
  }
}

}  // namespace torchplug::memory
