#include "memory/block_pool.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/immortal.h"
#include "plugin/layers/serialize.h"

namespace torchplug::memory {
namespace {

constexpr size_t kMinimum = 512;

// When a shelf has not what is asked for, but much else, its longer blocks may make it up when joined.
constexpr size_t kWorthJoining = size_t{32} << 10;
constexpr int64_t kMuchIdle = int64_t{1} << 20;

// Every block is as well aligned as what mem_alloc gives.
size_t unit_of(DeviceIndex device) {
  return std::max<size_t>(kMinimum, std::bit_ceil(device_info(device).alignment));
}

std::atomic<int> captures_underway{0};

// As PyTorch's visualiser names it.
const char* state_name(bool is_allocated, bool is_active) {
  if (is_allocated) return "active_allocated";
  return is_active ? "active_pending_free" : "inactive";
}

}  // namespace

bool is_any_capture_underway() noexcept { return captures_underway.load(std::memory_order_acquire) != 0; }

BlockPool::BlockPool(DeviceIndex device)
    : device_(device),
      unit_(unit_of(device)),
      unit_shift_(std::countr_zero(unit_)),
      own_({0, 0}, store_, plugin_memory()) {}

BlockPool::Request BlockPool::request(const Stream& stream, size_t bytes) const {
  const AllocatorSettings settings = allocator_settings();
  const size_t rounded = rounded_size(bytes, unit_);
  return {
      stream, bytes, rounded, rounded <= kSmallSize, settings, MemoryHistory::gather(ContextLevel::kState)};
}

bool BlockPool::can_expand(const Request& request) const {
  return request.settings.expandable && runtime_table().mem_reserve != nullptr &&
         device_info(device_).map_bytes != 0 && request.pool->source == plugin_memory();
}

SplitRules BlockPool::rules(const Request& request) const {
  return {unit_, request.settings.max_split, request.settings.max_rounding, request.pool->may_split,
          can_expand(request)};
}

Block* BlockPool::take(const Stream& stream, size_t bytes) {
  Request wanted = request(stream, bytes);
  const auto find_now = [&] {
    Books::Session session(books_);
    return caches_ ? find(wanted) : nullptr;
  };
  take_back_passed();
  if (Block* block = find_now()) return block;
  try {
    // Before our own lock: a kernel that asks for scratch memory holds it already.
    const auto calls = lock_calls(active_module());
    std::lock_guard growth(growth_lock_);
    return take_new(wanted);
  } catch (const c10::OutOfMemoryError&) {
    DeviceAllocator::instance().tell_out_of_memory_observers(device_, wanted.rounded);
    throw;
  }
}

Block* BlockPool::find(Request& request) {
  request.pool = &pool_for(request.stream);
  books_.max_split_size = request.settings.max_split;
  permit_quick_ways();
  const bool has_shelf = request.is_small && !request.pool->is_private();
  if (has_shelf && !MemoryHistory::is_enabled()) {
    Shelf& shelf = make_shelf(request.stream);
    Block* block = books_.take_shelved(shelf, request.rounded >> unit_shift_, request.rounded, request.bytes);
    if (block != nullptr) return block;
    put_away(books_.clear(shelf, kWorthJoining >> unit_shift_, kMuchIdle));
  }
  return find_in(*request.pool, request);
}

Block* BlockPool::find_in(MemoryPool& pool, const Request& request) {
  Block* block = pool.heap(request.is_small).take(request.stream, request.rounded, rules(request));
  if (block == nullptr) return nullptr;
  note_idle();
  return hand_out(request, block);
}

// A block whose allocation is recorded goes back the slow way, where that is forgotten.
Block* BlockPool::hand_out(const Request& request, Block* block) {
  block->requested = request.bytes;
  block->context = request.context;
  if (Shelf* shelf = counting_shelf(*block)) {
    books_.take(*shelf, *block);
    const bool fits = shelf->is_expandable() == block->segment->is_expandable;
    block->shelf = fits && block->context == nullptr ? shelf : nullptr;
  } else {
    books_.take(kind_of(*block), *block);
  }
  record("alloc", *block, request.context);
  return block;
}

void BlockPool::give(Block* block) {
  const Context context = MemoryHistory::gather(ContextLevel::kAll);
  if (!block->segment->is_cached) {
    give_uncached(block, context);
  } else if (!block->used_on.empty()) {
    give_later(block, context);
  } else {
    give_now(block, context);
  }
}

void BlockPool::give_now(Block* block, const Context& context) {
  Books::Session session(books_);
  record("free_requested", *block, context);
  record("free_completed", *block, context);
  if (block->shelf != nullptr && books_.shelve(*block->shelf, block, block->bytes >> unit_shift_)) return;
  count_given(*block);
  put_away({block});
}

void BlockPool::give_later(Block* block, const Context& context) {
  {
    Books::Session session(books_);
    record("free_requested", *block, context);
    count_given(*block);
    books_.begin_wait(kind_of(*block), *block);
    block->state = BlockState::kPending;
    if (is_capturing()) {
      deferred_.push_back(block);
      return;
    }
  }
  pending_.add(block);
}

void BlockPool::take_back_passed() {
  if (C10_LIKELY(pending_.is_empty())) return;
  {
    Books::Session session(books_);
    if (is_capturing()) return;
  }
  const auto calls = lock_calls(active_module());
  const std::vector<Block*> passed = pending_.take_passed();
  if (passed.empty()) return;
  Books::Session session(books_);
  for (Block* block : passed) {
    record("free_completed", *block, nullptr);
    books_.end_wait(kind_of(*block), *block);
  }
  put_away(passed);
}

void BlockPool::put_away(const std::vector<Block*>& blocks) {
  if (blocks.empty()) return;
  for (Block* block : blocks) block->segment->pool->heap(block->segment->is_small).give(block);
  note_idle();
}

void BlockPool::count_given(const Block& block) {
  if (Shelf* shelf = counting_shelf(block)) {
    books_.give(*shelf, block);
  } else {
    books_.give(kind_of(block), block);
  }
}

void BlockPool::record_use(Block* block, const Stream& user) {
  Books::Session session(books_);
  auto& used_on = block->used_on;
  const bool known =
      user == block->stream || std::find(used_on.begin(), used_on.end(), user) != used_on.end();
  if (known) return;
  used_on.push_back(user);
  block->shelf = nullptr;
}

Block* BlockPool::block_at(const Segment& segment, const void* address) {
  Books::Session session(books_);
  Block* block = segment.first;
  while (block->after != nullptr && block->after->address <= address) block = block->after;
  return block;
}

void BlockPool::record(const char* action, const Block& block, const Context& context) {
  if (C10_LIKELY(!MemoryHistory::is_enabled())) return;
  history_.record(action, reinterpret_cast<uint64_t>(block.address), block.requested, block.stream,
                  block.segment->pool->id, context != nullptr ? context : block.context);
}

Shelf* BlockPool::counting_shelf(const Block& block) {
  const Segment& segment = *block.segment;
  const bool counts = segment.is_small && segment.is_cached && !segment.pool->is_private();
  return counts ? &make_shelf(block.stream) : nullptr;
}

Shelf& BlockPool::make_shelf(const Stream& stream) {
  const auto id = static_cast<size_t>(stream.id());
  const auto make = [&] {
    auto* shelf = immortal<Shelf>(allocator_settings().expandable && runtime_table().mem_reserve != nullptr);
    books_.add_shelf(*shelf);
    return shelf;
  };
  if (C10_UNLIKELY(id >= kShelves)) {
    Shelf*& place = more_shelves_[stream.id()];
    if (place == nullptr) place = make();
    return *place;
  }
  Shelf* made = shelves_[id].load(std::memory_order_relaxed);
  if (made != nullptr) return *made;
  made = make();
  shelves_[id].store(made, std::memory_order_release);
  return *made;
}

void BlockPool::empty_shelves() {
  for (Shelf* shelf : books_.shelves()) put_away(books_.clear(*shelf));
}

void BlockPool::note_idle() {
  for (bool is_small : {true, false}) {
    IdleSplits idle = own_.heap(is_small).idle();
    for (const auto& [id, pool] : private_pools_) {
      const IdleSplits more = pool->heap(is_small).idle();
      idle.count += more.count;
      idle.bytes += more.bytes;
    }
    books_.set_idle(kind_of(is_small), idle);
  }
}

// Whatever must be known at once closes the quick ways.
void BlockPool::permit_quick_ways() {
  const bool unseen = !MemoryHistory::is_enabled();
  books_.permit(unseen && caches_ && redirections_.empty() && !rounds_to_divisions(), unseen);
}

// ---- pools ----

// The latest that takes the stream.
MemoryPool& BlockPool::pool_for(const Stream& stream) {
  const auto found = std::find_if(redirections_.rbegin(), redirections_.rend(),
                                  [&](const Redirection& way) { return way.goes_there(stream); });
  return found == redirections_.rend() ? own_ : *private_pools_.at(found->pool);
}

bool BlockPool::is_capturing() const {
  return std::any_of(redirections_.begin(), redirections_.end(),
                     [](const Redirection& way) { return way.captures; });
}

void BlockPool::make_pool(c10::MempoolId_t pool, const PoolOptions& options) {
  Books::Session session(books_);
  MemoryPool& made = use_pool(pool);
  if (options.source != nullptr) made.source = options.source;
  made.may_split = options.may_split;
  made.helps_others = options.helps_others;
}

MemoryPool& BlockPool::use_pool(c10::MempoolId_t id) {
  std::unique_ptr<MemoryPool>& place = private_pools_[id];
  if (place == nullptr) place = std::make_unique<MemoryPool>(id, store_, own_.source);
  ++place->users;
  return *place;
}

void BlockPool::begin_allocate_to(c10::MempoolId_t pool, std::function<bool(const Stream&)> goes_there,
                                  bool captures) {
  Books::Session session(books_);
  use_pool(pool);
  redirections_.push_back({pool, std::move(goes_there), captures});
  if (captures) ++captures_underway;
  permit_quick_ways();
}

void BlockPool::end_allocate_to(c10::MempoolId_t pool) {
  std::vector<Block*> waiting;
  {
    Books::Session session(books_);
    const auto found = std::find_if(redirections_.rbegin(), redirections_.rend(),
                                    [&](const Redirection& way) { return way.pool == pool; });
    TORCH_CHECK(found != redirections_.rend(), "Nothing is being allocated to the memory pool (", pool.first,
                ", ", pool.second, "): end_allocate_to_pool needs a begin_allocate_to_pool before it.");
    if (found->captures) --captures_underway;
    redirections_.erase(std::next(found).base());
    permit_quick_ways();
    if (!is_capturing()) waiting.swap(deferred_);
  }
  for (Block* block : waiting) pending_.add(block);
}

void BlockPool::release_pool(c10::MempoolId_t pool) {
  const auto calls = lock_calls(active_module());
  std::lock_guard growth(growth_lock_);
  {
    Books::Session session(books_);
    const auto found = private_pools_.find(pool);
    TORCH_CHECK(found != private_pools_.end() && found->second->users > 0, "The memory pool (", pool.first,
                ", ", pool.second, ") has no user left that could release it.");
    if (--found->second->users > 0) return;
  }
  release(pool);
}

int BlockPool::users_of(c10::MempoolId_t pool) {
  Books::Session session(books_);
  const auto found = private_pools_.find(pool);
  return found == private_pools_.end() ? 0 : found->second->users;
}

// ---- what there is ----

BlockPool::Stats BlockPool::stats() {
  Books::Session session(books_);
  Stats stats = books_.read();
  stats.max_split_size = static_cast<int64_t>(allocator_settings().max_split);
  return stats;
}

void BlockPool::reset_accumulated_stats() {
  Books::Session session(books_);
  books_.reset_accumulated();
}

void BlockPool::reset_peak_stats() {
  Books::Session session(books_);
  books_.reset_peaks();
}

BlockPool::Usage BlockPool::usage() {
  Books::Session session(books_);
  return {static_cast<size_t>(books_.allocated_bytes()), static_cast<size_t>(books_.reserved_bytes())};
}

void BlockPool::set_fraction(double fraction) {
  Books::Session session(books_);
  fraction_ = fraction;
}

double BlockPool::fraction() {
  Books::Session session(books_);
  return fraction_.value_or(1.0);
}

void BlockPool::set_caching(bool caching) {
  Books::Session session(books_);
  caches_ = caching;
  permit_quick_ways();
}

void BlockPool::set_source(std::shared_ptr<MemorySource> source) {
  Books::Session session(books_);
  own_.source = std::move(source);
  caches_ = false;
  permit_quick_ways();
}

void BlockPool::follow_history(bool clear) {
  Books::Session session(books_);
  if (clear) history_.clear();
  empty_shelves();
  permit_quick_ways();
}

std::vector<TraceEntry> BlockPool::history() {
  Books::Session session(books_);
  return history_.entries();
}

std::vector<SegmentInfo> BlockPool::snapshot(std::optional<c10::MempoolId_t> only) {
  Books::Session session(books_);
  empty_shelves();
  std::vector<SegmentInfo> infos;
  books_.with_shelved_blocks([&](const std::set<const Block*>& shelved) {
    for (const auto& [address, segment] : segments_) {
      if (!only || segment->pool->id == *only) describe(*segment, shelved, infos);
    }
  });
  size_t active = 0;
  for (const SegmentInfo& info : infos) active += info.active_bytes;
  history_.record("snapshot", 0, active, Stream::default_of(device_), only.value_or(c10::MempoolId_t{0, 0}),
                  nullptr);
  return infos;
}

// Each run of mapped memory is a segment to those who look.
void BlockPool::describe(const Segment& segment, const std::set<const Block*>& shelved,
                         std::vector<SegmentInfo>& infos) const {
  bool is_open = false;
  for (const Block* block = segment.first; block != nullptr; block = block->after) {
    if (block->state == BlockState::kUnmapped) {
      is_open = false;
      continue;
    }
    if (!std::exchange(is_open, true)) {
      infos.push_back({.device = device_,
                       .address = reinterpret_cast<uint64_t>(block->address),
                       .stream = segment.stream().id(),
                       .pool = segment.pool->id,
                       .is_small = segment.is_small,
                       .is_expandable = segment.is_expandable,
                       .context = segment.context,
                       .blocks = {}});
    }
    const bool is_allocated = block->state == BlockState::kAway && !shelved.contains(block);
    const bool is_active = is_allocated || block->state == BlockState::kPending;
    SegmentInfo& info = infos.back();
    info.total_bytes += block->bytes;
    info.allocated_bytes += is_allocated ? block->bytes : 0;
    info.active_bytes += is_active ? block->bytes : 0;
    info.requested_bytes += is_active ? block->requested : 0;
    info.blocks.push_back({reinterpret_cast<uint64_t>(block->address), block->bytes,
                           is_active ? block->requested : 0, state_name(is_allocated, is_active),
                           block->context});
  }
}

}  // namespace torchplug::memory
