#include "runtime/device_allocator.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>

#include "immortal.h"
#include "plugin/serialize.h"
#include "runtime/block_pool.h"
#include "runtime/failure.h"

namespace torchplug {
namespace {

BlockPool& pool(DeviceIndex device) {
  static const auto& pools = *immortal<std::vector<std::unique_ptr<BlockPool>>>([] {
    std::vector<std::unique_ptr<BlockPool>> made;
    for (DeviceIndex i = 0; i < device_count(); ++i) made.push_back(std::make_unique<BlockPool>(i));
    return made;
  }());
  return *pools.at(static_cast<size_t>(device));
}

// The deleter of every DataPtr this allocator gives out. In a forked child the plugin and its locks
// are out of reach, and the child's copy of the memory goes when it ends. A deleter cannot throw: a
// block that the plugin will not let us wait for is never used again, and the reason is kept.
void release_block(void* context) {
  auto* block = static_cast<Block*>(context);
  const DeviceIndex device = block->stream.device();
  if (!is_open(device)) return;
  try {
    BlockPool& owner = pool(device);
    const auto calls = lock_calls(active_module());
    std::lock_guard lock(owner.lock);
    owner.give(block);
  } catch (...) {
    record_failure(device, std::current_exception());
  }
}

void release_nothing(void* /*context*/) {}

using Stats = c10::CachingDeviceAllocator::DeviceStats;

template <class Function>
void for_each_array(Stats& stats, Function function) {
  for (auto* array :
       {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split, &stats.allocated_bytes,
        &stats.reserved_bytes, &stats.active_bytes, &stats.inactive_split_bytes, &stats.requested_bytes}) {
    for (auto& stat : *array) function(stat);
  }
}

}  // namespace

plug_mem Placement::memory() const { return {block->base, offset, plugin_index(block->stream.device()), 0}; }

DeviceAllocator& DeviceAllocator::instance() {
  static auto& allocator = *immortal<DeviceAllocator>();
  return allocator;
}

c10::DataPtr DeviceAllocator::allocate(size_t bytes) {
  return allocate_on(Stream::current(current_device()), bytes);
}

c10::DataPtr DeviceAllocator::allocate_on(const Stream& stream, size_t bytes) {
  const c10::Device device(kDeviceType, stream.device());
  ensure_open(stream.device());
  if (bytes == 0) return {nullptr, nullptr, &release_nothing, device};
  BlockPool& owner = pool(stream.device());
  // Before the pool's lock: a kernel that asks for scratch memory holds it already.
  const auto calls = lock_calls(active_module());
  std::lock_guard lock(owner.lock);
  Block* block = owner.take(stream, bytes);
  return {block->address, block, &release_block, device};
}

void DeviceAllocator::copy_data(void* dest, const void* src, size_t bytes) const {
  if (bytes == 0) return;
  const plug_mem to = locate(dest).memory();
  const plug_mem from = locate(src).memory();
  const Stream stream = Stream::current(visible_index(to.device));
  check(runtime().copy(plugin_index(stream.device()), stream.handle(), &to, &from, bytes), "copy",
        stream.device());
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
}

void DeviceAllocator::recordStream(const c10::DataPtr& data, c10::Stream stream) {
  if (data.get_deleter() != &release_block) return;
  auto* block = static_cast<Block*>(data.get_context());
  const Stream user(stream);
  std::lock_guard lock(pool(block->stream.device()).lock);
  auto& used_on = block->used_on;
  const bool known =
      user == block->stream || std::find(used_on.begin(), used_on.end(), user) != used_on.end();
  if (!known) used_on.push_back(user);
}

Stats DeviceAllocator::getDeviceStats(DeviceIndex device) {
  device_info(device);
  std::lock_guard lock(pool(device).lock);
  return pool(device).stats();
}

void DeviceAllocator::resetAccumulatedStats(DeviceIndex device) {
  device_info(device);
  std::lock_guard lock(pool(device).lock);
  Stats& stats = pool(device).stats();
  for_each_array(stats, [](auto& stat) { stat.reset_accumulated(); });
  stats.num_alloc_retries = 0;
  stats.num_ooms = 0;
  stats.num_device_alloc = 0;
  stats.num_device_free = 0;
}

void DeviceAllocator::resetPeakStats(DeviceIndex device) {
  device_info(device);
  std::lock_guard lock(pool(device).lock);
  for_each_array(pool(device).stats(), [](auto& stat) { stat.reset_peak(); });
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

Placement DeviceAllocator::locate(const c10::StorageImpl& storage) const {
  const c10::DataPtr& data = storage.data_ptr();
  if (C10_LIKELY(data.get_deleter() == &release_block)) {
    const auto* block = static_cast<const Block*>(data.get_context());
    return {block, static_cast<uint64_t>(static_cast<const char*>(data.get()) - block->address)};
  }
  return locate(data.get());
}

Placement DeviceAllocator::locate(const void* address) const {
  const Block* block = find_block(address);
  TORCH_CHECK(block != nullptr, "The memory at ", address, " does not belong to device '",
              active_module().name, "'.");
  return {block, static_cast<uint64_t>(static_cast<const char*>(address) - block->address)};
}

}  // namespace torchplug
