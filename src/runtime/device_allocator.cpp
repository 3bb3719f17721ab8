#include "runtime/device_allocator.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "immortal.h"
#include "plugin/serialize.h"
#include "runtime/address_index.h"
#include "runtime/block_pool.h"
#include "runtime/failure.h"
#include "runtime/foreign_memory.h"
#include "runtime/ipc.h"
#include "runtime/memory_copy.h"
#include "runtime/memory_events.h"

namespace torchplug {
namespace {

// By device; made when the first memory of the device is asked for.
constinit std::array<std::atomic<BlockPool*>, std::numeric_limits<DeviceIndex>::max() + 1> pools{};

BlockPool& make_pool(DeviceIndex device) {
  static std::mutex making_lock;
  std::lock_guard lock(making_lock);
  std::atomic<BlockPool*>& place = pools[static_cast<size_t>(device)];
  if (place == nullptr) place = immortal<BlockPool>(device);
  return *place;
}

BlockPool& pool(DeviceIndex device) {
  BlockPool* made = pools[static_cast<size_t>(device)].load(std::memory_order_acquire);
  return C10_LIKELY(made != nullptr) ? *made : make_pool(device);
}

void release_nothing(void* /*context*/) {}

Block* take_locked(BlockPool& owner, const Stream& stream, size_t bytes) {
  // Before the pool's lock: a kernel that asks for scratch memory holds it already.
  const auto calls = lock_calls(active_module());
  std::lock_guard lock(owner.lock);
  return owner.take(stream, bytes);
}

// `sign`: 1 for a block just taken, -1 for one about to be given back.
void report(const BlockPool& owner, const Block& block, int64_t sign) {
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const int64_t allocated = owner.stats().allocated_bytes[kAll].current;
  const auto bytes = static_cast<int64_t>(block.bytes);
  report_memory(block.address, sign * bytes, static_cast<size_t>(sign < 0 ? allocated - bytes : allocated),
                owner.reserved_bytes(), block.stream.device());
}

// What other processes no longer use is not asked for before it is needed.
Block* take_slowly(BlockPool& owner, const Stream& stream, size_t bytes) {
  try {
    return take_locked(owner, stream, bytes);
  } catch (const c10::OutOfMemoryError&) {
    if (collect_exports() == 0) throw;
  }
  return take_locked(owner, stream, bytes);
}

// The block that a DataPtr lies in, whoever made the DataPtr; null if there is none.
Block* block_of(const c10::DataPtr& data) {
  if (data.get_deleter() == &detail::release_block) return static_cast<Block*>(data.get_context());
  Block* foreign = foreign_block(data);
  return foreign != nullptr ? foreign : find_block(data.get());
}

}  // namespace

// In a forked child the plugin and its locks
// are out of reach, and the child's copy of the memory goes when it ends. A deleter cannot throw: a
// block that the plugin will not let us wait for is never used again, and the reason is kept.
void detail::release_block(void* context) {
  auto* block = static_cast<Block*>(context);
  const DeviceIndex device = block->stream.device();
  if (!may_give_back(device)) return;
  BlockPool& owner = pool(device);
  if (is_memory_watched()) report(owner, *block, -1);
  if (C10_LIKELY(owner.give_quickly(block))) return;
  try {
    const auto calls = lock_calls(active_module());
    std::lock_guard lock(owner.lock);
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
  BlockPool& owner = pool(stream.device());
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
  stream.synchronize_if_blocking();
}

void DeviceAllocator::emptyCache(c10::MempoolId_t /*pool*/) {
  if (!is_module_loaded()) return;
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    if (!is_open(device)) continue;
    BlockPool& owner = pool(device);
    const auto calls = lock_calls(active_module());
    std::lock_guard lock(owner.lock);
    owner.release_cached();
  }
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    if (is_open(device)) throw_recorded_failure(device);
  }
}

void DeviceAllocator::recordStream(const c10::DataPtr& data, c10::Stream stream) {
  Block* block = block_of(data);
  if (block == nullptr) return;
  const Stream user(stream);
  std::lock_guard lock(pool(block->stream.device()).lock);
  auto& used_on = block->used_on;
  const bool known =
      user == block->stream || std::find(used_on.begin(), used_on.end(), user) != used_on.end();
  if (!known) used_on.push_back(user);
}

c10::CachingDeviceAllocator::DeviceStats DeviceAllocator::getDeviceStats(DeviceIndex device) {
  device_info(device);
  return pool(device).stats();
}

void DeviceAllocator::resetAccumulatedStats(DeviceIndex device) {
  device_info(device);
  pool(device).reset_accumulated_stats();
}

void DeviceAllocator::resetPeakStats(DeviceIndex device) {
  device_info(device);
  pool(device).reset_peak_stats();
}

std::pair<size_t, size_t> DeviceAllocator::getMemoryInfo(DeviceIndex device) {
  ensure_open(device);
  uint64_t free_bytes = 0;
  uint64_t total_bytes = device_info(device).total_bytes;
  if (runtime().mem_info != nullptr) {
    check(runtime().mem_info(plugin_index(device), &free_bytes, &total_bytes), "mem_info", device);
  } else {
    const size_t reserved = pool(device).reserved_bytes();
    free_bytes = total_bytes > reserved ? total_bytes - reserved : 0;
  }
  return {free_bytes, total_bytes};
}

Placement DeviceAllocator::locate_other(const c10::DataPtr& data) const {
  const Block* block = foreign_block(data);
  if (block == nullptr) return locate(data.get());
  return {block, static_cast<uint64_t>(static_cast<const char*>(data.get()) - block->address)};
}

void DeviceAllocator::begin_allocate_to_pool(DeviceIndex device, c10::MempoolId_t pool_id,
                                             std::function<bool(const Stream&)> goes_there, bool captures) {
  ensure_open(device);
  BlockPool& owner = pool(device);
  std::lock_guard lock(owner.lock);
  owner.begin_allocate_to(pool_id, std::move(goes_there), captures);
}

void DeviceAllocator::end_allocate_to_pool(DeviceIndex device, c10::MempoolId_t pool_id) {
  ensure_open(device);
  BlockPool& owner = pool(device);
  const auto calls = lock_calls(active_module());
  std::lock_guard lock(owner.lock);
  owner.end_allocate_to(pool_id);
}

void DeviceAllocator::release_pool(DeviceIndex device, c10::MempoolId_t pool_id) {
  ensure_open(device);
  BlockPool& owner = pool(device);
  const auto calls = lock_calls(active_module());
  std::lock_guard lock(owner.lock);
  owner.release_pool(pool_id);
}

c10::MempoolId_t DeviceAllocator::new_pool_id(bool by_user) {
  static std::atomic<c10::CaptureId_t> latest{0};
  const c10::CaptureId_t id = ++latest;
  return by_user ? c10::MempoolId_t{0, id} : c10::MempoolId_t{id, 0};
}

Placement DeviceAllocator::locate(const void* address) const {
  const Block* block = find_block(address);
  TORCH_CHECK(block != nullptr, "The memory at ", address, " does not belong to device '",
              active_module().name, "'. torchplug.from_blob makes tensors of memory from elsewhere.");
  return {block, static_cast<uint64_t>(static_cast<const char*>(address) - block->address)};
}

}  // namespace torchplug
