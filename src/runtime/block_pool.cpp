#include "runtime/block_pool.h"

#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <exception>
#include <utility>

#include "runtime/address_index.h"
#include "runtime/memory_events.h"

namespace torchplug {
namespace {

using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

constexpr size_t kMinimum = 512;
constexpr size_t kSmall = size_t{1} << 20;
constexpr size_t kLargeStep = size_t{2} << 20;

// Few distinct sizes, so that cached blocks fit again: eight to a doubling below 1 MiB, then
// multiples of 2 MiB.
size_t round_up(size_t bytes) {
  size_t step = kLargeStep;
  if (bytes <= kSmall) {
    step = kMinimum;
    while (step * 16 < bytes) step *= 2;
  }
  return (bytes + step - 1) / step * step;
}

// The place of a small rounded size among all of them: 512, 1024, ... 8192, then eight to a doubling.
size_t size_class(size_t rounded) {
  const size_t units = rounded / kMinimum;
  if (units <= 16) return units;
  const auto doublings = static_cast<size_t>(std::bit_width(units - 1)) - 4;
  return 8 * doublings + (units >> doublings);
}

std::atomic<size_t> hidden_blocks{0};

template <class Function>
void for_each_stat(StatArray& stats, size_t bytes, Function function) {
  const auto pool = bytes <= kSmall ? StatType::SMALL_POOL : StatType::LARGE_POOL;
  function(stats[static_cast<size_t>(StatType::AGGREGATE)]);
  function(stats[static_cast<size_t>(pool)]);
}

void increase(StatArray& stats, size_t bytes, size_t amount) {
  for_each_stat(stats, bytes, [amount](auto& stat) { stat.increase(amount); });
}

void decrease(StatArray& stats, size_t bytes, size_t amount) {
  for_each_stat(stats, bytes, [amount](auto& stat) { stat.decrease(amount); });
}

template <class Function>
void for_each_array(c10::CachingDeviceAllocator::DeviceStats& stats, Function function) {
  for (auto* array : {&stats.allocation, &stats.segment, &stats.allocated_bytes, &stats.reserved_bytes,
                      &stats.requested_bytes}) {
    for (auto& stat : *array) function(stat);
  }
}

std::string in_words(size_t bytes) {
  if (bytes < kSmall) return std::to_string(bytes) + " bytes";
  const size_t tenths = bytes * 10 / kSmall;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

// Addresses for a device whose memory cannot be addressed: PyTorch adds offsets to them, nobody
// follows them.
char* reserve_addresses(size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK_WITH(OutOfMemoryError, address != MAP_FAILED, "No address space is left for ", bytes,
                   " bytes.");
  return static_cast<char*>(address);
}

}  // namespace

void count_hidden_block(int change) noexcept { hidden_blocks += static_cast<size_t>(change); }

// Blocks for those who asked for a pool of their own. Guarded by the lock of the BlockPool, its shelves by
// shelf_lock_.
struct PrivatePool {
  int users = 0;
  std::vector<BlockPool::Shelf> shelves;
};

bool has_hidden_blocks() noexcept { return hidden_blocks.load(std::memory_order_relaxed) != 0; }

inline BlockPool::Shelf& BlockPool::shelf(PrivatePool* pool, const Stream& stream) {
  Shelves& shelves = C10_LIKELY(pool == nullptr) ? shelves_ : pool->shelves;
  const auto index = static_cast<size_t>(stream.id());
  if (C10_UNLIKELY(index >= shelves.size())) shelves.resize(index + 1);
  return shelves[index];
}

inline void BlockPool::cache(Block* block) {
  Shelf& owner = shelf(block->pool, block->stream);
  if (block->bytes <= kSmall) {
    block->next = std::exchange(owner.small[size_class(block->bytes)], block);
  } else {
    owner.large.emplace(block->bytes, block);
  }
  cached_bytes_ += block->bytes;
}

// A block of the next class is at most an eighth longer, except among the smallest.
inline Block* BlockPool::find_small(Shelf& shelf, size_t bytes) {
  const size_t fitting = size_class(bytes);
  const size_t longest = fitting < 8 ? fitting : std::min(fitting + 2, kClassCount) - 1;
  for (size_t place = fitting; place <= longest; ++place) {
    if (Block* block = shelf.small[place]) {
      shelf.small[place] = std::exchange(block->next, nullptr);
      return block;
    }
  }
  return nullptr;
}

inline Block* BlockPool::find_cached(PrivatePool* pool, const Stream& stream, size_t bytes) {
  Shelf& owner = shelf(pool, stream);
  Block* block = bytes <= kSmall ? find_small(owner, bytes) : find_large(owner, bytes);
  if (block != nullptr) cached_bytes_ -= block->bytes;
  return block;
}

inline void BlockPool::count_taken(Block& block, size_t requested) {
  block.requested = requested;
  increase(stats_.allocation, block.bytes, 1);
  increase(stats_.allocated_bytes, block.bytes, block.bytes);
  increase(stats_.requested_bytes, block.bytes, block.requested);
}

inline void BlockPool::count_given(const Block& block) {
  decrease(stats_.allocation, block.bytes, 1);
  decrease(stats_.allocated_bytes, block.bytes, block.bytes);
  decrease(stats_.requested_bytes, block.bytes, block.requested);
}

Block* BlockPool::take_quickly(const Stream& stream, size_t bytes) {
  if (bytes > kSmall || must_look_.load(std::memory_order_relaxed)) return nullptr;
  std::lock_guard guard(shelf_lock_);
  Block* block = find_cached(nullptr, stream, round_up(bytes));
  if (block != nullptr) count_taken(*block, bytes);
  return block;
}

bool BlockPool::give_quickly(Block* block) {
  if (!block->used_on.empty()) return false;
  std::lock_guard guard(shelf_lock_);
  count_given(*block);
  cache(block);
  return true;
}

Block* BlockPool::take(const Stream& stream, size_t bytes) {
  cache_all(take_finished());
  const size_t rounded = std::max(round_up(bytes), bytes);  // the round one may be too large a number
  PrivatePool* pool = private_pool_for(stream);
  {
    std::lock_guard guard(shelf_lock_);
    if (Block* block = find_cached(pool, stream, rounded)) {
      count_taken(*block, bytes);
      return block;
    }
  }
  Block* block = make(pool, stream, rounded);
  std::lock_guard guard(shelf_lock_);
  count_taken(*block, bytes);
  return block;
}

void BlockPool::give(Block* block) {
  if (give_quickly(block)) return;
  {
    std::lock_guard guard(shelf_lock_);
    count_given(*block);
  }
  if (is_capturing()) {
    deferred_.push_back(block);
  } else {
    record_uses(block);
  }
}

void BlockPool::record_uses(Block* block) {
  Pending pending{block, {}};
  for (const Stream& stream : block->used_on) {
    pending.events.push_back(std::make_unique<Event>(stream.device(), /*with_timing=*/false));
    pending.events.back()->record(stream);
  }
  block->used_on.clear();
  pending_.push_back(std::move(pending));
  look_for_slow_path();
}

void BlockPool::look_for_slow_path() { must_look_ = !pending_.empty() || !redirections_.empty(); }

// The latest that takes the stream.
PrivatePool* BlockPool::private_pool_for(const Stream& stream) {
  const auto found = std::find_if(redirections_.rbegin(), redirections_.rend(),
                                  [&](const Redirection& way) { return way.goes_there(stream); });
  return found == redirections_.rend() ? nullptr : private_pools_.at(found->pool).get();
}

bool BlockPool::is_capturing() const {
  return std::any_of(redirections_.begin(), redirections_.end(),
                     [](const Redirection& way) { return way.captures; });
}

void BlockPool::begin_allocate_to(c10::MempoolId_t pool, std::function<bool(const Stream&)> goes_there,
                                  bool captures) {
  std::shared_ptr<PrivatePool>& place = private_pools_[pool];
  if (place == nullptr) place = std::make_shared<PrivatePool>();
  ++place->users;
  redirections_.push_back({pool, std::move(goes_there), captures});
  look_for_slow_path();
}

void BlockPool::end_allocate_to(c10::MempoolId_t pool) {
  const auto found = std::find_if(redirections_.rbegin(), redirections_.rend(),
                                  [&](const Redirection& way) { return way.pool == pool; });
  TORCH_CHECK(found != redirections_.rend(), "Nothing is being allocated to the memory pool (", pool.first,
              ", ", pool.second, "): end_allocate_to_pool needs a begin_allocate_to_pool before it.");
  redirections_.erase(std::next(found).base());
  look_for_slow_path();
  if (is_capturing()) return;
  for (Block* block : std::exchange(deferred_, {})) record_uses(block);
}

void BlockPool::release_pool(c10::MempoolId_t pool) {
  const auto found = private_pools_.find(pool);
  TORCH_CHECK(found != private_pools_.end() && found->second->users > 0, "The memory pool (", pool.first,
              ", ", pool.second, ") has no user left that could release it.");
  if (--found->second->users == 0 && !is_capturing()) release_cached();
}

// First the blocks, then the wait: what is given back meanwhile may still be in use.
void BlockPool::release_cached() {
  std::vector<Block*> released = take_all_cached();
  try {
    check(runtime().device_sync(plugin_index(device_)), "device_sync", device_);
  } catch (...) {
    cache_all(released);
    throw;
  }
  for (Block* block : take_finished()) released.push_back(block);
  std::exception_ptr failure;
  for (Block* block : released) {
    try {
      destroy(block);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

std::vector<Block*> BlockPool::take_all_cached() {
  std::vector<Block*> cached;
  std::lock_guard guard(shelf_lock_);
  take_all(shelves_, cached);
  for (const auto& [id, pool] : private_pools_) {
    if (pool->users == 0) take_all(pool->shelves, cached);
  }
  for (const Block* block : cached) cached_bytes_ -= block->bytes;
  return cached;
}

void BlockPool::take_all(Shelves& shelves, std::vector<Block*>& taken) {
  for (const Shelf& shelf : std::exchange(shelves, {})) {
    for (Block* head : shelf.small) {
      for (Block* block = head; block != nullptr; block = block->next) taken.push_back(block);
    }
    for (const auto& [bytes, block] : shelf.large) taken.push_back(block);
  }
}

void BlockPool::cache_all(const std::vector<Block*>& blocks) {
  std::lock_guard guard(shelf_lock_);
  for (Block* block : blocks) cache(block);
}

std::vector<Block*> BlockPool::take_finished() {
  std::vector<Block*> finished;
  if (is_capturing()) return finished;
  for (auto it = pending_.begin(); it != pending_.end();) {
    const auto over = [](const auto& event) { return event->is_over(); };
    if (std::all_of(it->events.begin(), it->events.end(), over)) {
      finished.push_back(it->block);
      it = pending_.erase(it);
    } else {
      ++it;
    }
  }
  look_for_slow_path();
  return finished;
}

Block* BlockPool::find_large(Shelf& shelf, size_t bytes) {
  const auto found = shelf.large.lower_bound(bytes);
  if (found == shelf.large.end() || found->first > bytes + bytes / 8) return nullptr;
  Block* block = found->second;
  shelf.large.erase(found);
  return block;
}

plug_status BlockPool::try_make(size_t bytes, void** base) const {
  take_plugin_error();
  return runtime().mem_alloc(plugin_index(device_), bytes, base);
}

Block* BlockPool::make(PrivatePool* pool, const Stream& stream, size_t bytes) {
  void* base = nullptr;
  plug_status status = try_make(bytes, &base);
  if (status == PLUG_NO_MEMORY) {
    count(&Stats::num_alloc_retries);
    const std::string said = take_plugin_error();
    release_cached();
    status = try_make(bytes, &base);
    if (status == PLUG_NO_MEMORY) throw_out_of_memory(bytes, said);
  }
  check(status, "mem_alloc", device_);
  count(&Stats::num_device_alloc);

  void* view = nullptr;
  if (runtime().host_view != nullptr && runtime().host_view(plugin_index(device_), base, &view) != PLUG_OK)
    view = nullptr;
  const bool addressable = (device_info(device_).flags & PLUG_ADDRESSABLE) != 0;
  char* address = addressable ? static_cast<char*>(base) : reserve_addresses(bytes);
  if (runtime().host_view != nullptr && view == nullptr) ++hidden_blocks;
  auto block = std::make_unique<Block>(
      Block{address, base, static_cast<char*>(view), bytes, 0, stream, {}, nullptr, pool});
  Block* made = block.get();
  owned_.emplace(made, std::move(block));
  reserved_bytes_ += bytes;
  {
    std::lock_guard guard(shelf_lock_);
    increase(stats_.segment, bytes, 1);
    increase(stats_.reserved_bytes, bytes, bytes);
  }
  add_to_address_index(*made);
  return made;
}

void BlockPool::destroy(Block* block) {
  remove_from_address_index(*block);
  if (block->address != block->base) ::munmap(block->address, block->bytes);
  if (runtime().host_view != nullptr && block->view == nullptr) --hidden_blocks;
  reserved_bytes_ -= block->bytes;
  {
    std::lock_guard guard(shelf_lock_);
    decrease(stats_.segment, block->bytes, 1);
    decrease(stats_.reserved_bytes, block->bytes, block->bytes);
  }
  count(&Stats::num_device_free);
  void* base = block->base;
  owned_.erase(block);
  check(runtime().mem_free(plugin_index(device_), base), "mem_free", device_);
}

void BlockPool::count(int64_t Stats::*number) {
  std::lock_guard guard(shelf_lock_);
  ++(stats_.*number);
}

// A block is active while it is allocated: what these two say is counted once.
BlockPool::Stats BlockPool::stats() const {
  std::lock_guard guard(shelf_lock_);
  Stats stats = stats_;
  stats.active = stats.allocation;
  stats.active_bytes = stats.allocated_bytes;
  return stats;
}

void BlockPool::reset_accumulated_stats() {
  std::lock_guard guard(shelf_lock_);
  for_each_array(stats_, [](auto& stat) { stat.reset_accumulated(); });
  stats_.num_alloc_retries = 0;
  stats_.num_ooms = 0;
  stats_.num_device_alloc = 0;
  stats_.num_device_free = 0;
}

void BlockPool::reset_peak_stats() {
  std::lock_guard guard(shelf_lock_);
  for_each_array(stats_, [](auto& stat) { stat.reset_peak(); });
}

void BlockPool::throw_out_of_memory(size_t bytes, const std::string& said) {
  count(&Stats::num_ooms);
  const auto [free_bytes, total_bytes] = DeviceAllocator::instance().getMemoryInfo(device_);
  size_t cached = 0;
  {
    std::lock_guard guard(shelf_lock_);
    cached = cached_bytes_;
  }
  const size_t in_use = reserved_bytes_ - cached;
  report_out_of_memory(static_cast<int64_t>(bytes), in_use, reserved_bytes_, device_);
  TORCH_CHECK_WITH(OutOfMemoryError, false, active_module().name, ":", int{device_},
                   " out of memory. Tried to allocate ", in_words(bytes), "; of ", in_words(total_bytes),
                   " the device has ", in_words(free_bytes), " free and torchplug holds ", in_words(in_use),
                   " in use and ", in_words(cached),
                   " cached. The plugin said: ", said.empty() ? "nothing" : said, ".");
}

}  // namespace torchplug
