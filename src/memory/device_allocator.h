#pragma once
// PyTorch's allocator for the device: caches the plugin's memory and reuses it in stream order.
// A block freed on the stream it was allocated on can be allocated again on that stream at once, since what
// uses it next is enqueued behind what used it last; a block used on other streams (record_stream) waits for
// them first. Any thread may allocate, any other may free.

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Storage.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "memory/block.h"
#include "memory/memory_source.h"

namespace torchplug::memory {

struct HistoryOptions;
struct MemorySnapshot;

// Options of a user's memory pool.
struct PoolOptions {
  std::shared_ptr<MemorySource> source = nullptr;  // null: the plugin
  bool may_split = true;
  bool use_on_oom = false;  // its free memory serves others when the device has no memory left
};

// Where an address lies: for plug_mem and for host views.
struct Placement {
  const Block* block;
  uint64_t offset;

  inline plug_mem memory() const;
  char* host_address() const { return block->view + offset; }
};

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  static DeviceAllocator& instance() { return *instance_; }

  c10::DataPtr allocate(size_t bytes) override;  // on the current device and stream
  c10::DataPtr allocate_on(const Stream& stream, size_t bytes);
  // A storage of the class that an extension has asked for (c10::SetStorageImplCreate), else of PyTorch's
  // own.
  static c10::Storage make_storage(c10::DataPtr data, size_t bytes, bool resizable);
  // A resizable one, of new memory.
  static c10::Storage allocate_storage(const Stream& stream, size_t bytes);
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* dest, const void* src, size_t bytes) const override;

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t pool = {0, 0}) override;
  void recordStream(const c10::DataPtr& data, c10::Stream stream) override;
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex device) override;
  void resetAccumulatedStats(DeviceIndex device) override;
  void resetPeakStats(DeviceIndex device) override;
  std::pair<size_t, size_t> getMemoryInfo(DeviceIndex device) override;

  // Until end_allocate_to_pool, allocations of streams for which `filter` is true come from the pool (made if
  // new, its use count rises). Blocks of a pool are allocated to nobody else, and are kept while it has
  // users.
  void begin_allocate_to_pool(DeviceIndex device, c10::MempoolId_t pool,
                              std::function<bool(const Stream&)> filter);
  void end_allocate_to_pool(DeviceIndex device, c10::MempoolId_t pool);
  // One user fewer; with none left its segments are returned to the plugin: those that are free now, the
  // others when the cache is emptied.
  void release_pool(DeviceIndex device, c10::MempoolId_t pool);
  // {id, 0} for captures, {0, id} for users, never repeating.
  static c10::MempoolId_t new_pool_id(bool by_user);
  // A pool with one user, before anything is allocated to it.
  void make_pool(DeviceIndex device, c10::MempoolId_t pool, const PoolOptions& options);
  int users_of_pool(DeviceIndex device, c10::MempoolId_t pool);

  // The part of the device's memory that this process may allocate: from 0 to 1.
  void set_memory_fraction(DeviceIndex device, double fraction);
  double memory_fraction(DeviceIndex device);

  // Whether freed memory is kept for reuse. TORCHPLUG_NO_MEMORY_CACHING=1 does the same from the start.
  void set_caching(bool caching);
  bool is_caching() const;
  // All memory is allocated there and freed there at once. Throws if there is memory already.
  void replace_source(std::shared_ptr<MemorySource> source);
  bool has_plugins_source() const;

  // All segments and blocks, and the recorded history; with a pool: of that one alone.
  MemorySnapshot snapshot(std::optional<c10::MempoolId_t> pool = std::nullopt, bool with_traces = true);
  void record_history(const HistoryOptions& options);

  // Called, without any lock, before an out-of-memory error is thrown: device, bytes requested, bytes that
  // the process may allocate, bytes that are free.
  using OutOfMemoryObserver = std::function<void(DeviceIndex, size_t, size_t, size_t)>;
  void add_out_of_memory_observer(OutOfMemoryObserver observer);
  void notify_out_of_memory(DeviceIndex device, size_t bytes);

  // Frees memory that nobody needs any more; called, without any lock, before an allocation fails. Returns
  // how many storages it freed.
  using Reclaimer = size_t (*)();
  void add_reclaimer(Reclaimer reclaim);

  // The block and offset of a storage's first byte. Throws if the memory is not this device's.
  inline Placement locate(const c10::StorageImpl& storage) const;
  inline Placement locate(const c10::DataPtr& data) const;
  Placement locate(const void* address) const;

 private:
  // Of memory that is not the allocator's, or that is under another DataPtr, as DLPack's.
  Placement locate_other(const c10::DataPtr& data) const;

  static DeviceAllocator* const instance_;
};

namespace detail {

// The deleter of every DataPtr of the allocator, with the Block as its context.
void free_block(void* context);
// The allocator's own block that an address lies in; null if there is none.
Block* block_at(const void* address);

}  // namespace detail

plug_mem Placement::memory() const {
  return {block->base, block->offset + offset, unchecked_plugin_index(block->stream.device()), block->flags};
}

Placement DeviceAllocator::locate(const c10::StorageImpl& storage) const {
  return locate(storage.data_ptr());
}

Placement DeviceAllocator::locate(const c10::DataPtr& data) const {
  if (C10_UNLIKELY(data.get_deleter() != &detail::free_block)) return locate_other(data);
  const auto* block = static_cast<const Block*>(data.get_context());
  return {block, static_cast<uint64_t>(static_cast<const char*>(data.get()) - block->address)};
}

}  // namespace torchplug::memory
