#pragma once
// The cached blocks and the statistics of one device, for DeviceAllocator.
// Blocks belong to the pool from plugin to plugin. Two locks: `lock` is held by the caller of everything
// that may reach the plugin; a lock of the pool's own guards its shelves and numbers, and is all that a
// small block that is there takes to be had and given back.

#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/device_allocator.h"
#include "runtime/event.h"
#include "spin_lock.h"

namespace torchplug {

class BlockPool {
 public:
  explicit BlockPool(DeviceIndex device) : device_(device) {}

  // A small cached block, or nothing.
  Block* take_quickly(const Stream& stream, size_t bytes);
  // Whether the block could be put back on its shelf at once.
  bool give_quickly(Block* block);

  // With `lock` held: a cached block or a new one, at least `bytes` long; throws c10::OutOfMemoryError.
  Block* take(const Stream& stream, size_t bytes);
  // With `lock` held: the user is done with the block; other streams it was used on may not be.
  void give(Block* block);
  // With `lock` held: gives the plugin back every block nobody holds. Waits for the device.
  void release_cached();
  std::mutex lock;

  using Stats = c10::CachingDeviceAllocator::DeviceStats;
  Stats stats() const;
  void reset_accumulated_stats();
  void reset_peak_stats();
  size_t reserved_bytes() const { return reserved_bytes_; }

 private:
  struct Pending {
    Block* block;
    std::vector<std::unique_ptr<Event>> events;
  };
  // What one stream may use again: small blocks by size class, others by size.
  static constexpr size_t kClassCount = 73;
  struct Shelf {
    std::array<Block*, kClassCount> small{};
    std::multimap<size_t, Block*> large;
  };

  std::vector<Block*> take_all_cached();
  void cache_all(const std::vector<Block*>& blocks);
  // What is no longer in use on any stream, of what was given back while it was.
  std::vector<Block*> take_finished();
  // With shelf_lock_ held:
  void cache(Block* block);
  Shelf& shelf(const Stream& stream);
  Block* find_cached(const Stream& stream, size_t bytes);
  static Block* find_small(Shelf& shelf, size_t bytes);
  static Block* find_large(Shelf& shelf, size_t bytes);
  void count_taken(Block& block, size_t requested);
  void count_given(const Block& block);

  void count(int64_t Stats::*number);
  Block* make(const Stream& stream, size_t bytes);
  plug_status try_make(size_t bytes, void** base) const;
  void destroy(Block* block);
  [[noreturn]] void throw_out_of_memory(size_t bytes, const std::string& said);

  DeviceIndex device_;
  std::unordered_map<Block*, std::unique_ptr<Block>> owned_;
  std::list<Pending> pending_;
  std::atomic<bool> has_pending_{false};
  std::atomic<size_t> reserved_bytes_{0};

  mutable SpinLock shelf_lock_;
  std::vector<Shelf> shelves_;  // by stream
  Stats stats_;
  size_t cached_bytes_ = 0;
};

// Whether any block is out of the host's reach though the plugin gives host views.
bool has_hidden_blocks() noexcept;
// One more, or with -1 one less, that the pools did not make.
void count_hidden_block(int change) noexcept;

}  // namespace torchplug
