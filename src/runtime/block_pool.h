#pragma once
// The cached blocks and the statistics of one device, for DeviceAllocator.
// Every member is called with `lock` held; blocks belong to the pool from plugin to plugin.

#include <c10/core/CachingDeviceAllocator.h>

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/device_allocator.h"
#include "runtime/event.h"

namespace torchplug {

class BlockPool {
 public:
  explicit BlockPool(DeviceIndex device) : device_(device) {}

  // A cached block or a new one, at least `bytes` long; throws c10::OutOfMemoryError.
  Block* take(const Stream& stream, size_t bytes);
  // The user is done with the block; other streams it was used on may not be.
  void give(Block* block);
  // Gives the plugin back every block nobody holds. Waits for the device.
  void release_cached();

  c10::CachingDeviceAllocator::DeviceStats& stats() { return stats_; }
  size_t reserved_bytes() const { return reserved_bytes_; }

  std::mutex lock;

 private:
  struct Pending {
    Block* block;
    std::vector<std::unique_ptr<Event>> events;
  };

  void take_back_finished();
  void cache(Block* block);
  Block* find_cached(const Stream& stream, size_t bytes);
  Block* make(const Stream& stream, size_t bytes);
  plug_status try_make(size_t bytes, void** base) const;
  void destroy(Block* block);
  void count_taken(const Block& block);
  void count_given(const Block& block);
  [[noreturn]] void throw_out_of_memory(size_t bytes, const std::string& said);

  DeviceIndex device_;
  std::unordered_map<Block*, std::unique_ptr<Block>> owned_;
  std::map<c10::StreamId, std::multimap<size_t, Block*>> cached_;
  std::list<Pending> pending_;
  c10::CachingDeviceAllocator::DeviceStats stats_;
  size_t reserved_bytes_ = 0;
  size_t cached_bytes_ = 0;
};

// Finds the block an address lies in, among all blocks of all devices.
const Block* find_block(const void* address);

}  // namespace torchplug
