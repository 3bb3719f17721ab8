#include "memory/device_allocator.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/immortal.h"
#include "memory/address_index.h"
#include "memory/block_pool.h"
#include "memory/foreign_memory.h"
#include "memory/memory_events.h"
#include "runtime/failure.h"
#include "runtime/memory_copy.h"

namespace torchplug::memory {
namespace {

// By device; made when the first memory of the device is asked for.
constinit std::array<std::atomic<BlockPool*>, std::numeric_limits<DeviceIndex>::max() + 1> pools{};

// How pools that are made later behave, and whom to tell when memory runs out.
struct Choices {
  std::mutex choices_lock;
  bool caching = true;
  std::shared_ptr<MemorySource> source;
  std::vector<DeviceAllocator::OutOfMemoryObserver> observers;
  std::vector<DeviceAllocator::Reclaimer> reclaimers;
};

Choices& choices() {
  static auto& instance = *immortal<Choices>();
  return instance;
}

bool caching_is_forbidden() {
  const char* value = std::getenv("TORCHPLUG_NO_MEMORY_CACHING");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

BlockPool& make_pool_of(DeviceIndex device) {
  Choices& chosen = choices();
  std::lock_guard lock(chosen.choices_lock);
  std::atomic<BlockPool*>& place = pools[static_cast<size_t>(device)];
  if (place != nullptr) return *place;
  auto* made = immortal<BlockPool>(device);
  if (!chosen.caching || caching_is_forbidden()) made->set_caching(false);
  if (chosen.source != nullptr) made->set_source(chosen.source);
  place = made;
  return *made;
}

BlockPool& pool_of(DeviceIndex device) {
  BlockPool* made = pools[static_cast<size_t>(device)].load(std::memory_order_acquire);
  return C10_LIKELY(made != nullptr) ? *made : make_pool_of(device);
}

template <class Function>
void for_each_pool(const Function& function) {
  if (!are_devices_known()) return;
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    BlockPool* made = pools[static_cast<size_t>(device)].load(std::memory_order_acquire);
    if (made != nullptr && is_open(device)) function(*made);
  }
}

void release_nothing(void* /*context*/) {}

// `sign`: 1 for a block just taken, -1 for one about to be given back.
void report(BlockPool& owner, const Block& block, int64_t sign) {
  const BlockPool::Usage usage = owner.usage();
  const auto bytes = static_cast<int64_t>(block.bytes);
  report_memory(block.address, sign * bytes, sign < 0 ? usage.allocated - block.bytes : usage.allocated,
                usage.reserved, block.stream.device());
}

size_t reclaim() {
  std::vector<DeviceAllocator::Reclaimer> reclaimers;
  {
    std::lock_guard lock(choices().choices_lock);
    reclaimers = choices().reclaimers;
  }
  size_t released = 0;
  for (const auto& each : reclaimers) released += each();
  return released;
}

Block* take_slowly(BlockPool& owner, const Stream& stream, size_t bytes) {
  try {
    return owner.take(stream, bytes);
  } catch (const c10::OutOfMemoryError&) {
    if (reclaim() == 0) throw;
  }
  return owner.take(stream, bytes);
}

// The block that a DataPtr lies in, whoever made the DataPtr; null if there is none.
Block* block_of(const c10::DataPtr& data) {
  if (data.get_deleter() == &detail::release_block) return static_cast<Block*>(data.get_context());
  if (Block* foreign = foreign_block(data)) return foreign;
  return detail::block_at(data.get());
}

}  // namespace

Block* detail::block_at(const void* address) {
  const Block* found = find_block(address);
  if (found == nullptr || found->segment == nullptr) return nullptr;
  return pool_of(found->stream.device()).block_at(*found->segment, address);
}

// In a forked child the plugin and its locks
// are out of reach, and the child's copy of the memory goes when it ends. A deleter cannot throw: a
// block that the plugin will not let us wait for is never used again, and the reason is kept.
void detail::release_block(void* context) {
  auto* block = static_cast<Block*>(context);
  const DeviceIndex device = block->stream.device();
  if (!may_give_back(device)) return;
  BlockPool& owner = pool_of(device);
  if (is_memory_watched()) report(owner, *block, -1);
  if (C10_LIKELY(owner.give_quickly(block))) return;
  try {
    owner.give(block);
  } catch (...) {
    record_failure(device, std::current_exception());
  }
}

DeviceAllocator* const DeviceAllocator::instance_ = immortal<DeviceAllocator>();

c10::DataPtr DeviceAllocator::allocate(size_t bytes) {
  return allocate_on(Stream::current(current_device()), bytes);
}

c10::DataPtr DeviceAllocator::allocate_on(const Stream& stream, size_t bytes) {
  const c10::Device device(kDeviceType, stream.device());
  ensure_open(stream.device());
  if (bytes == 0) return {nullptr, nullptr, &release_nothing, device};
  BlockPool& owner = pool_of(stream.device());
  Block* block = owner.take_quickly(stream, bytes);
  if (C10_UNLIKELY(block == nullptr)) block = take_slowly(owner, stream, bytes);
  if (is_memory_watched()) report(owner, *block, 1);
  return {block->address, block, &detail::release_block, device};
}

void DeviceAllocator::copy_data(void* dest, const void* src, size_t bytes) const {
  if (bytes == 0) return;
  const plug_mem to = locate(dest).memory();
  const plug_mem from = locate(src).memory();
  const Stream stream = Stream::current(visible_index(to.device));
  copy_memory(to, from, bytes, stream);
}

void DeviceAllocator::emptyCache(c10::MempoolId_t pool) {
  const bool is_all = pool == c10::MempoolId_t{0, 0};
  for_each_pool([&](BlockPool& owner) { owner.release_cached(is_all ? std::nullopt : std::optional(pool)); });
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    if (is_open(device)) throw_recorded_failure(device);
  }
}

void DeviceAllocator::recordStream(const c10::DataPtr& data, c10::Stream stream) {
  Block* block = block_of(data);
  if (block == nullptr) return;
  const Stream user(stream);
  if (!(user == block->stream)) pool_of(block->stream.device()).record_use(block, user);
}

c10::CachingDeviceAllocator::DeviceStats DeviceAllocator::getDeviceStats(DeviceIndex device) {
  device_info(device);
  return pool_of(device).stats();
}

void DeviceAllocator::resetAccumulatedStats(DeviceIndex device) {
  device_info(device);
  pool_of(device).reset_accumulated_stats();
}

void DeviceAllocator::resetPeakStats(DeviceIndex device) {
  device_info(device);
  pool_of(device).reset_peak_stats();
}

std::pair<size_t, size_t> DeviceAllocator::getMemoryInfo(DeviceIndex device) {
  ensure_open(device);
  uint64_t free_bytes = 0;
  uint64_t total_bytes = device_info(device).total_bytes;
  if (plugin_has<&plug_runtime::mem_info>(device)) {
    call_plugin<&plug_runtime::mem_info>(device, &free_bytes, &total_bytes);
  } else {
    const size_t reserved = pool_of(device).usage().reserved;
    free_bytes = total_bytes > reserved ? total_bytes - reserved : 0;
  }
  return {free_bytes, total_bytes};
}

Placement DeviceAllocator::locate_other(const c10::DataPtr& data) const {
  const Block* block = foreign_block(data);
  if (block == nullptr) return locate(data.get());
  return {block, static_cast<uint64_t>(static_cast<const char*>(data.get()) - block->address)};
}

void DeviceAllocator::begin_allocate_to_pool(DeviceIndex device, c10::MempoolId_t pool,
                                             std::function<bool(const Stream&)> goes_there, bool captures) {
  ensure_open(device);
  pool_of(device).begin_allocate_to(pool, std::move(goes_there), captures);
}

void DeviceAllocator::end_allocate_to_pool(DeviceIndex device, c10::MempoolId_t pool) {
  ensure_open(device);
  pool_of(device).end_allocate_to(pool);
}

void DeviceAllocator::release_pool(DeviceIndex device, c10::MempoolId_t pool) {
  ensure_open(device);
  pool_of(device).release_pool(pool);
}

void DeviceAllocator::make_pool(DeviceIndex device, c10::MempoolId_t pool, const PoolOptions& options) {
  ensure_open(device);
  pool_of(device).make_pool(pool, options);
}

int DeviceAllocator::users_of_pool(DeviceIndex device, c10::MempoolId_t pool) {
  ensure_open(device);
  return pool_of(device).users_of(pool);
}

c10::MempoolId_t DeviceAllocator::new_pool_id(bool by_user) {
  static std::atomic<c10::CaptureId_t> latest{0};
  const c10::CaptureId_t id = ++latest;
  return by_user ? c10::MempoolId_t{0, id} : c10::MempoolId_t{id, 0};
}

void DeviceAllocator::set_memory_fraction(DeviceIndex device, double fraction) {
  TORCH_CHECK_VALUE(fraction >= 0 && fraction <= 1, "A memory fraction lies between 0 and 1, and ", fraction,
                    " does not.");
  ensure_open(device);
  pool_of(device).set_fraction(fraction);
}

double DeviceAllocator::memory_fraction(DeviceIndex device) {
  ensure_open(device);
  return pool_of(device).fraction();
}

void DeviceAllocator::set_caching(bool caching) {
  {
    Choices& chosen = choices();
    std::lock_guard lock(chosen.choices_lock);
    TORCH_CHECK(chosen.source == nullptr, "A pluggable allocator is in use: caching is its own affair.");
    chosen.caching = caching;
  }
  for_each_pool([caching](BlockPool& owner) { owner.set_caching(caching); });
}

bool DeviceAllocator::is_caching() const {
  Choices& chosen = choices();
  std::lock_guard lock(chosen.choices_lock);
  return chosen.caching && chosen.source == nullptr && !caching_is_forbidden();
}

void DeviceAllocator::replace_source(std::shared_ptr<MemorySource> source) {
  Choices& chosen = choices();
  std::lock_guard lock(chosen.choices_lock);
  const bool any = std::any_of(pools.begin(), pools.end(), [](const auto& made) { return made != nullptr; });
  TORCH_CHECK(!any, "The allocator can only be changed before the first memory of the device is asked for.");
  chosen.source = std::move(source);
}

bool DeviceAllocator::has_plugins_source() const {
  Choices& chosen = choices();
  std::lock_guard lock(chosen.choices_lock);
  return chosen.source == nullptr;
}

MemorySnapshot DeviceAllocator::snapshot(std::optional<c10::MempoolId_t> pool, bool with_traces) {
  MemorySnapshot all;
  for_each_pool([&](BlockPool& owner) {
    for (SegmentInfo& segment : owner.snapshot(pool)) all.segments.push_back(std::move(segment));
  });
  if (!with_traces || !are_devices_known()) return all;
  all.traces.resize(static_cast<size_t>(device_count()));
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    BlockPool* made = pools[static_cast<size_t>(device)].load(std::memory_order_acquire);
    if (made != nullptr) all.traces[static_cast<size_t>(device)] = made->history();
  }
  all.annotations = MemoryHistory::annotations();
  return all;
}

void DeviceAllocator::record_history(const HistoryOptions& options) {
  MemoryHistory::set_options(options);
  for_each_pool([&](BlockPool& owner) { owner.follow_history(!options.enabled || options.clear); });
}

void DeviceAllocator::add_reclaimer(Reclaimer reclaim) {
  std::lock_guard lock(choices().choices_lock);
  choices().reclaimers.push_back(reclaim);
}

void DeviceAllocator::add_out_of_memory_observer(OutOfMemoryObserver observer) {
  Choices& chosen = choices();
  std::lock_guard lock(chosen.choices_lock);
  chosen.observers.push_back(std::move(observer));
}

void DeviceAllocator::tell_out_of_memory_observers(DeviceIndex device, size_t bytes) {
  std::vector<OutOfMemoryObserver> observers;
  {
    Choices& chosen = choices();
    std::lock_guard lock(chosen.choices_lock);
    observers = chosen.observers;
  }
  if (observers.empty()) return;
  const auto [free_bytes, total_bytes] = getMemoryInfo(device);
  const auto allowed = static_cast<size_t>(memory_fraction(device) * static_cast<double>(total_bytes));
  for (const OutOfMemoryObserver& observer : observers) observer(device, bytes, allowed, free_bytes);
}

Placement DeviceAllocator::locate(const void* address) const {
  const Block* block = find_block(address);
  TORCH_CHECK(block != nullptr, "The memory at ", address, " does not belong to device '", device_type_name(),
              "'. torchplug.from_blob makes tensors of memory from elsewhere.");
  return {block, static_cast<uint64_t>(static_cast<const char*>(address) - block->address)};
}

}  // namespace torchplug::memory
