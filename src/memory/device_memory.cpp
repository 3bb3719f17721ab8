#include "memory/device_memory.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "plugin/layers/serialize.h"

namespace torchplug::memory {
namespace {

constexpr size_t kMinimum = 512;

// When a cache has no block of the size, but much else, its longer blocks may make one up when joined.
constexpr size_t kWorthJoining = size_t{32} << 10;
constexpr size_t kMuchCached = size_t{1} << 20;

// Every block is as well aligned as what mem_alloc returns.
size_t unit_of(DeviceIndex device) {
  return std::max<size_t>(kMinimum, std::bit_ceil(device_info(device).alignment));
}

// As PyTorch's visualiser names it.
const char* name_of(BlockState state) {
  if (state == BlockState::kAllocated) return "active_allocated";
  return state == BlockState::kPending ? "active_pending_free" : "inactive";
}

}  // namespace

DeviceMemory::DeviceMemory(DeviceIndex device)
    : device_(device),
      unit_(unit_of(device)),
      unit_shift_(std::countr_zero(unit_)),
      own_({0, 0}, store_, statistics_, plugin_memory()) {
  update_cache_use();
}

DeviceMemory::Request DeviceMemory::request(const Stream& stream, size_t bytes) const {
  const AllocatorSettings settings = allocator_settings();
  const size_t rounded = rounded_size(bytes, unit_);
  return {
      stream, bytes, rounded, rounded <= kSmallSize, settings, MemoryHistory::gather(ContextLevel::kState)};
}

bool DeviceMemory::supports_expansion() const {
  return plugin_has<&plug_runtime::mem_reserve>(device_) && device_info(device_).map_bytes != 0;
}

bool DeviceMemory::can_expand(const Request& request) const {
  return request.settings.expandable && supports_expansion() && request.pool->source == plugin_memory();
}

SplitRules DeviceMemory::rules(const Request& request) const {
  return {unit_, request.settings.max_split, request.settings.max_rounding, request.pool->may_split,
          can_expand(request)};
}

// ---- allocating ----

Block* DeviceMemory::allocate(const Stream& stream, size_t bytes) {
  Request wanted = request(stream, bytes);
  process_pending();
  {
    std::lock_guard lock(lock_);
    Block* block = caches_memory_ ? find(wanted) : nullptr;
    if (block != nullptr) return block;
  }
  try {
    // Before our own lock: a kernel that asks for scratch memory holds it already.
    const auto calls = lock_calls(module_of(device_));
    std::lock_guard growth(growth_lock_);
    return allocate_new(wanted);
  } catch (const c10::OutOfMemoryError&) {
    DeviceAllocator::instance().notify_out_of_memory(device_, wanted.rounded);
    throw;
  }
}

Block* DeviceMemory::find(Request& request) {
  request.pool = &pool_for(request.stream);
  statistics_.max_split_size = request.settings.max_split;
  update_cache_use();
  const bool may_be_cached = request.is_small && !request.pool->is_private();
  if (may_be_cached && !MemoryHistory::is_enabled()) {
    StreamCache& cache = make_cache(request.stream);
    if (Block* block = pop_cached(cache, request.rounded >> unit_shift_, request.bytes)) return block;
    if (cache.bytes() > kMuchCached) flush(cache, kWorthJoining >> unit_shift_);
  }
  return find_in(*request.pool, request);
}

Block* DeviceMemory::find_in(MemoryPool& pool, const Request& request) {
  Block* block = pool.free_blocks(request.is_small).allocate(request.stream, request.rounded, rules(request));
  return block == nullptr ? nullptr : allocate_block(request, block);
}

// A block whose allocation is recorded is freed to its pool, where the record is dropped.
Block* DeviceMemory::allocate_block(const Request& request, Block* block) {
  const Segment& segment = *block->segment;
  block->requested = request.bytes;
  block->context = request.context;
  const bool may_be_cached = segment.is_small && segment.is_cached && !segment.pool->is_private();
  block->cache = may_be_cached && block->context == nullptr ? &make_cache(block->stream) : nullptr;
  statistics_.count_allocation(Statistics::kind_of(*block), *block);
  record("alloc", *block, request.context);
  return block;
}

// ---- freeing ----

void DeviceMemory::free(Block* block) {
  const Context context = MemoryHistory::gather(ContextLevel::kAll);
  if (!block->segment->is_cached) {
    free_uncached(block, context);
  } else if (!block->used_on.empty()) {
    free_later(block, context);
  } else {
    free_now(block, context);
  }
}

void DeviceMemory::free_now(Block* block, const Context& context) {
  std::lock_guard lock(lock_);
  record("free_requested", *block, context);
  record("free_completed", *block, context);
  if (block->cache != nullptr && may_free_cached_ && push_cached(block)) return;
  statistics_.count_free_request(Statistics::kind_of(*block), *block);
  statistics_.count_free_completion(Statistics::kind_of(*block), *block);
  free_to_pool(block);
}

void DeviceMemory::free_later(Block* block, const Context& context) {
  {
    std::lock_guard lock(lock_);
    record("free_requested", *block, context);
    statistics_.count_free_request(Statistics::kind_of(*block), *block);
    block->state = BlockState::kPending;
  }
  pending_.add(block);
}

void DeviceMemory::process_pending() {
  const std::vector<Block*> passed = pending_.take_passed(module_of(device_));
  if (passed.empty()) return;
  std::lock_guard lock(lock_);
  for (Block* block : passed) {
    record("free_completed", *block, nullptr);
    statistics_.count_free_completion(Statistics::kind_of(*block), *block);
    free_to_pool(block);
  }
}

void DeviceMemory::free_to_pool(Block* block) {
  block->segment->pool->free_blocks(block->segment->is_small).free(block);
}

void DeviceMemory::record_use(Block* block, const Stream& user) {
  std::lock_guard lock(lock_);
  auto& used_on = block->used_on;
  const bool known =
      user == block->stream || std::find(used_on.begin(), used_on.end(), user) != used_on.end();
  if (known) return;
  used_on.push_back(user);
  block->cache = nullptr;
}

Block* DeviceMemory::block_at(const Segment& segment, const void* address) {
  std::lock_guard lock(lock_);
  Block* block = segment.first;
  while (block->after != nullptr && block->after->address <= address) block = block->after;
  return block;
}

void DeviceMemory::record(const char* action, const Block& block, const Context& context) {
  if (C10_LIKELY(!MemoryHistory::is_enabled())) return;
  history_.record(action, reinterpret_cast<uint64_t>(block.address), block.requested, block.stream,
                  block.segment->pool->id, context != nullptr ? context : block.context);
}

// ---- caches ----

StreamCache& DeviceMemory::make_cache(const Stream& stream) {
  const auto id = static_cast<size_t>(stream.id());
  if (id >= caches_.size()) caches_.resize(id + 1);
  if (caches_[id] == nullptr) caches_[id] = std::make_unique<StreamCache>();
  return *caches_[id];
}

void DeviceMemory::flush(StreamCache& cache, size_t units) {
  for (Block* block : cache.clear(units)) {
    if (is_inactive_split(*block)) {
      statistics_.change_inactive_splits(Statistics::kind_of(*block),
                                         {-1, -static_cast<int64_t>(block->bytes)});
    }
    free_to_pool(block);
  }
}

void DeviceMemory::flush_caches() {
  for (const auto& cache : caches_) {
    if (cache != nullptr) flush(*cache);
  }
}

// What depends on more than stream and size cannot be found there, and what is recorded passes none of it.
void DeviceMemory::update_cache_use() {
  may_free_cached_ = !MemoryHistory::is_enabled();
  may_allocate_cached_ =
      may_free_cached_ && caches_memory_ && redirections_.empty() && !rounds_to_divisions();
}

// ---- pools ----

// The latest whose filter takes the stream.
MemoryPool& DeviceMemory::pool_for(const Stream& stream) {
  const auto found = std::find_if(redirections_.rbegin(), redirections_.rend(),
                                  [&](const Redirection& to) { return to.filter(stream); });
  return found == redirections_.rend() ? own_ : *private_pools_.at(found->pool);
}

void DeviceMemory::make_pool(c10::MempoolId_t pool, const PoolOptions& options) {
  std::lock_guard lock(lock_);
  MemoryPool& made = use_pool(pool);
  if (options.source != nullptr) made.source = options.source;
  made.may_split = options.may_split;
  made.use_on_oom = options.use_on_oom;
}

MemoryPool& DeviceMemory::use_pool(c10::MempoolId_t id) {
  std::unique_ptr<MemoryPool>& place = private_pools_[id];
  if (place == nullptr) place = std::make_unique<MemoryPool>(id, store_, statistics_, own_.source);
  ++place->users;
  return *place;
}

void DeviceMemory::begin_allocate_to(c10::MempoolId_t pool, std::function<bool(const Stream&)> filter) {
  std::lock_guard lock(lock_);
  use_pool(pool);
  redirections_.push_back({pool, std::move(filter)});
  update_cache_use();
}

void DeviceMemory::end_allocate_to(c10::MempoolId_t pool) {
  std::function<bool(const Stream&)> ended;  // what it holds may be freed, without the lock
  std::lock_guard lock(lock_);
  const auto found = std::find_if(redirections_.rbegin(), redirections_.rend(),
                                  [&](const Redirection& to) { return to.pool == pool; });
  TORCH_CHECK(found != redirections_.rend(), "Nothing is being allocated to the memory pool (", pool.first,
              ", ", pool.second, "): end_allocate_to_pool needs a begin_allocate_to_pool before it.");
  ended = std::move(found->filter);
  redirections_.erase(std::next(found).base());
  update_cache_use();
}

void DeviceMemory::release_pool(c10::MempoolId_t pool) {
  const auto calls = lock_calls(module_of(device_));
  std::lock_guard growth(growth_lock_);
  {
    std::lock_guard lock(lock_);
    const auto found = private_pools_.find(pool);
    TORCH_CHECK(found != private_pools_.end() && found->second->users > 0, "The memory pool (", pool.first,
                ", ", pool.second, ") was released more often than it was acquired.");
    if (--found->second->users > 0) return;
  }
  release(pool);
}

int DeviceMemory::users_of(c10::MempoolId_t pool) {
  std::lock_guard lock(lock_);
  const auto found = private_pools_.find(pool);
  return found == private_pools_.end() ? 0 : found->second->users;
}

// ---- settings and statistics ----

void DeviceMemory::set_fraction(double fraction) {
  std::lock_guard lock(lock_);
  fraction_ = fraction;
}

double DeviceMemory::fraction() {
  std::lock_guard lock(lock_);
  return fraction_.value_or(1.0);
}

void DeviceMemory::set_caching(bool caching) {
  std::lock_guard lock(lock_);
  caches_memory_ = caching;
  update_cache_use();
}

void DeviceMemory::set_source(std::shared_ptr<MemorySource> source) {
  std::lock_guard lock(lock_);
  own_.source = std::move(source);
  caches_memory_ = false;
  update_cache_use();
}

Statistics::Values DeviceMemory::statistics() {
  const auto max_split_size = static_cast<int64_t>(allocator_settings().max_split);
  std::lock_guard lock(lock_);
  Statistics::Values values = statistics_.values();
  values.max_split_size = max_split_size;
  return values;
}

void DeviceMemory::reset_accumulated_statistics() {
  std::lock_guard lock(lock_);
  statistics_.reset_accumulated();
}

void DeviceMemory::reset_peak_statistics() {
  std::lock_guard lock(lock_);
  statistics_.reset_peaks();
}

DeviceMemory::Usage DeviceMemory::usage() {
  std::lock_guard lock(lock_);
  return {static_cast<size_t>(statistics_.allocated_bytes()),
          static_cast<size_t>(statistics_.reserved_bytes())};
}

// ---- history and snapshots ----

void DeviceMemory::follow_history(bool clear) {
  std::lock_guard lock(lock_);
  if (clear) history_.clear();
  flush_caches();
  update_cache_use();
}

std::vector<TraceEntry> DeviceMemory::history() {
  std::lock_guard lock(lock_);
  return history_.entries();
}

std::vector<SegmentInfo> DeviceMemory::snapshot(std::optional<c10::MempoolId_t> only) {
  std::lock_guard lock(lock_);
  flush_caches();
  std::vector<SegmentInfo> infos;
  for (const auto& [address, segment] : segments_) {
    if (!only || segment->pool->id == *only) describe(*segment, infos);
  }
  size_t active = 0;
  for (const SegmentInfo& info : infos) active += info.active_bytes;
  history_.record("snapshot", 0, active, Stream::default_of(device_), only.value_or(c10::MempoolId_t{0, 0}),
                  nullptr);
  return infos;
}

// Each run of mapped memory is a segment to those who look.
void DeviceMemory::describe(const Segment& segment, std::vector<SegmentInfo>& infos) const {
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
    const bool is_allocated = block->state == BlockState::kAllocated;
    const bool is_active = is_allocated || block->state == BlockState::kPending;
    SegmentInfo& info = infos.back();
    info.total_bytes += block->bytes;
    info.allocated_bytes += is_allocated ? block->bytes : 0;
    info.active_bytes += is_active ? block->bytes : 0;
    info.requested_bytes += is_active ? block->requested : 0;
    info.blocks.push_back({reinterpret_cast<uint64_t>(block->address), block->bytes,
                           is_active ? block->requested : 0, name_of(block->state), block->context});
  }
}

}  // namespace torchplug::memory
