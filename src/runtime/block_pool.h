#pragma once
// The cached blocks and the statistics of one device, for DeviceAllocator.
// Blocks belong to the pool from plugin to plugin. Two locks: `lock` is held by the caller of everything
// that may reach the plugin; a lock of the pool's own guards its shelves and numbers, and is all that a
// small block that is there takes to be had and given back.

#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <atomic>
#include <functional>
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
  friend struct PrivatePool;

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
  // With `lock` held: gives the plugin back every block nobody holds, but for those of private pools
  // that have users. Waits for the device.
  void release_cached();

  // With `lock` held: see DeviceAllocator.
  void begin_allocate_to(c10::MempoolId_t pool, std::function<bool(const Stream&)> goes_there, bool captures);
  void end_allocate_to(c10::MempoolId_t pool);
  void release_pool(c10::MempoolId_t pool);
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
  using Shelves = std::vector<Shelf>;  // by stream
  struct Redirection {
    c10::MempoolId_t pool;
    std::function<bool(const Stream&)> goes_there;
    bool captures;
  };

  PrivatePool* private_pool_for(const Stream& stream);
  void look_for_slow_path();
  bool is_capturing() const;
  void record_uses(Block* block);
  std::vector<Block*> take_all_cached();
  static void take_all(Shelves& shelves, std::vector<Block*>& taken);
  void cache_all(const std::vector<Block*>& blocks);
  // What is no longer in use on any stream, of what was given back while it was.
  std::vector<Block*> take_finished();
  // With shelf_lock_ held:
  void cache(Block* block);
  Shelf& shelf(PrivatePool* pool, const Stream& stream);
  Block* find_cached(PrivatePool* pool, const Stream& stream, size_t bytes);
  static Block* find_small(Shelf& shelf, size_t bytes);
  static Block* find_large(Shelf& shelf, size_t bytes);
  void count_taken(Block& block, size_t requested);
  void count_given(const Block& block);

  void count(int64_t Stats::*number);
  Block* make(PrivatePool* pool, const Stream& stream, size_t bytes);
  plug_status try_make(size_t bytes, void** base) const;
  void destroy(Block* block);
  [[noreturn]] void throw_out_of_memory(size_t bytes, const std::string& said);

  DeviceIndex device_;
  std::unordered_map<Block*, std::unique_ptr<Block>> owned_;
  std::list<Pending> pending_;
  std::vector<Block*> deferred_;  // given back during a capture, while their streams could not be asked
  std::vector<Redirection> redirections_;
  std::map<c10::MempoolId_t, std::shared_ptr<PrivatePool>> private_pools_;
  std::atomic<bool> must_look_{false};  // at pending_ or redirections_, before the shelves
  std::atomic<size_t> reserved_bytes_{0};

  mutable SpinLock shelf_lock_;
  Shelves shelves_;
  Stats stats_;
  size_t cached_bytes_ = 0;
};

// Whether any block is out of the host's reach though the plugin gives host views.
bool has_hidden_blocks() noexcept;
// One more, or with -1 one less, that the pools did not make.
void count_hidden_block(int change) noexcept;

}  // namespace torchplug
