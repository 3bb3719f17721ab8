#pragma once
// The memory of one device, for DeviceAllocator: cached, split and joined, reused in stream order.
//
// Small blocks are found in the cache of their stream, all others among the free blocks of a MemoryPool.
// lock_ guards both, and the statistics. It is not held while the plugin is called: whoever gets memory from
// the plugin or returns it holds growth_lock_, which a free does not need. Order: the lock of PLUG_SERIALIZE,
// growth_lock_, lock_.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/spin_lock.h"
#include "memory/allocator_settings.h"
#include "memory/device_allocator.h"
#include "memory/memory_history.h"
#include "memory/memory_pool.h"
#include "memory/memory_snapshot.h"
#include "memory/pending_uses.h"
#include "memory/stream_cache.h"

namespace torchplug::memory {

class DeviceMemory {
 public:
  explicit DeviceMemory(DeviceIndex device);

  // A small block from the cache of the stream, or null: then allocate().
  inline Block* allocate_cached(const Stream& stream, size_t bytes);
  // Whether the block could be freed to its cache: if not, free().
  inline bool free_cached(Block* block);

  // A cached block or a new one, at least `bytes` long; throws c10::OutOfMemoryError.
  Block* allocate(const Stream& stream, size_t bytes);
  // The user is done with the block; other streams it was used on may not be.
  void free(Block* block);
  // Works on any block of the device, whoever made it.
  void record_use(Block* block, const Stream& user);
  // The block that an address in a segment lies in.
  Block* block_at(const Segment& segment, const void* address);

  // Returns to the plugin every segment of which nothing is allocated, but for those of private pools that
  // have users; with a pool: of that one alone. Waits for the device.
  void release_cached(std::optional<c10::MempoolId_t> pool);

  // See DeviceAllocator.
  void begin_allocate_to(c10::MempoolId_t pool, std::function<bool(const Stream&)> filter);
  void end_allocate_to(c10::MempoolId_t pool);
  void make_pool(c10::MempoolId_t pool, const PoolOptions& options);
  void release_pool(c10::MempoolId_t pool);
  int users_of(c10::MempoolId_t pool);

  void set_fraction(double fraction);
  double fraction();
  // Whether freed memory is kept for reuse, and where memory comes from. Only for what is allocated later.
  void set_caching(bool caching);
  void set_source(std::shared_ptr<MemorySource> source);

  Statistics::Values statistics();
  void reset_accumulated_statistics();
  void reset_peak_statistics();
  struct Usage {
    size_t allocated;
    size_t reserved;
  };
  Usage usage();
  std::vector<SegmentInfo> snapshot(std::optional<c10::MempoolId_t> only);
  std::vector<TraceEntry> history();
  // What MemoryHistory records has changed.
  void follow_history(bool clear);

 private:
  struct Request {
    Stream stream;
    size_t bytes;    // what was requested
    size_t rounded;  // what a block must hold
    bool is_small;
    AllocatorSettings settings;
    Context context;
    MemoryPool* pool = nullptr;
  };
  // Allocations of streams for which the filter is true go to the pool.
  struct Redirection {
    c10::MempoolId_t pool;
    std::function<bool(const Stream&)> filter;
  };
  // What is about to be returned to the plugin: nobody can allocate it any more.
  struct Releasable {
    std::vector<Segment*> segments;
    std::vector<FreeBlocks::Range> ranges;
    bool is_empty() const { return segments.empty() && ranges.empty(); }
  };

  Request request(const Stream& stream, size_t bytes) const;
  SplitRules rules(const Request& request) const;
  bool supports_expansion() const;
  bool can_expand(const Request& request) const;

  // With lock_ held:
  inline StreamCache* find_cache(const Stream& stream) const;
  StreamCache& make_cache(const Stream& stream);
  inline Block* pop_cached(StreamCache& cache, size_t units, size_t requested);
  inline bool push_cached(Block* block);
  // Moves the blocks of at least so many units to their pool.
  void flush(StreamCache& cache, size_t units = 0);
  void flush_caches();
  MemoryPool& pool_for(const Stream& stream);
  MemoryPool& use_pool(c10::MempoolId_t id);
  Block* find(Request& request);
  Block* find_in(MemoryPool& pool, const Request& request);
  Block* allocate_block(const Request& request, Block* block);
  static void free_to_pool(Block* block);
  // Decides anew whether the caches may be used.
  void update_cache_use();
  void record(const char* action, const Block& block, const Context& context);
  void describe(const Segment& segment, std::vector<SegmentInfo>& infos) const;
  Segment& add_segment(const Request& request, std::unique_ptr<Segment> segment);
  void count_growth(const Segment& segment, uint64_t address, size_t bytes, const Context& context);
  void count_shrinkage(const Segment& segment, uint64_t address, size_t bytes);

  // Without lock_:
  void free_now(Block* block, const Context& context);
  void free_later(Block* block, const Context& context);
  void free_uncached(Block* block, const Context& context);
  // Frees blocks whose other streams have passed.
  void process_pending();
  bool is_allowed(size_t bytes, std::string& reason);
  size_t largest_allocation(const Request& request) const;
  bool is_too_large(const Request& request, std::string& reason) const;
  size_t segment_size_for(const Request& request) const;
  void free_segment(Segment& segment);

  // With growth_lock_ and without lock_. Where there is no memory, `reason` tells why.
  Block* allocate_new(Request& request);
  Block* allocate_uncached(Request& request);
  Block* retry(Request& request, size_t size, std::string& reason);
  // Asks the plugin for memory and finds the block in it; or null.
  Block* grow(Request& request, size_t bytes, std::string& reason);
  Block* grow_in_place(Request& request, size_t bytes, std::string& reason);
  bool reserve_addresses_for(const Request& request, std::string& reason);
  std::unique_ptr<Segment> make_segment(const Request& request, void* base, size_t bytes) const;
  void collect_garbage(const Request& request);
  void release(std::optional<c10::MempoolId_t> pool);
  Releasable take_releasable(std::optional<c10::MempoolId_t> only);
  Releasable take_garbage(const Request& request);
  // Waits for the device, then returns it all to the plugin; stays cached if the wait fails.
  void return_to_plugin(const Releasable& releasable);
  void restore(const Releasable& releasable);
  void unmap(const FreeBlocks::Range& range);
  void free_unmapped(const Releasable& releasable);
  void forget_empty_pools();
  void synchronize();
  [[noreturn]] void throw_out_of_memory(const Request& request, const std::string& reason);

  const DeviceIndex device_;
  const size_t unit_;  // of blocks, a power of two
  const int unit_shift_;
  PendingUses<Block> pending_;

  std::mutex growth_lock_;
  alignas(64) SpinLock lock_;  // guards what follows; what most calls use is next to it
  bool may_allocate_cached_ = true;
  bool may_free_cached_ = true;
  std::vector<std::unique_ptr<StreamCache>> caches_;  // by the id of the stream
  Statistics statistics_;
  BlockStore store_;
  MemoryPool own_;
  std::map<c10::MempoolId_t, std::unique_ptr<MemoryPool>> private_pools_;
  std::map<const char*, std::unique_ptr<Segment>> segments_;
  std::vector<Redirection> redirections_;
  MemoryHistory history_;
  std::optional<double> fraction_;
  bool caches_memory_ = true;
};

StreamCache* DeviceMemory::find_cache(const Stream& stream) const {
  const auto id = static_cast<size_t>(stream.id());
  return C10_LIKELY(id < caches_.size()) ? caches_[id].get() : nullptr;
}

Block* DeviceMemory::pop_cached(StreamCache& cache, size_t units, size_t requested) {
  Block* block = cache.pop(units);
  if (C10_UNLIKELY(block == nullptr)) return nullptr;
  block->requested = requested;
  statistics_.count_cached_allocation(*block);
  return block;
}

bool DeviceMemory::push_cached(Block* block) {
  if (C10_UNLIKELY(!block->cache->push(block, block->bytes >> unit_shift_))) return false;
  statistics_.count_cached_free(*block);
  return true;
}

Block* DeviceMemory::allocate_cached(const Stream& stream, size_t bytes) {
  const size_t units = (bytes + unit_ - 1) >> unit_shift_;
  if (C10_UNLIKELY(units >= StreamCache::kSizes)) return nullptr;
  std::lock_guard lock(lock_);
  StreamCache* cache = find_cache(stream);
  if (C10_UNLIKELY(cache == nullptr || !may_allocate_cached_)) return nullptr;
  return pop_cached(*cache, units, bytes);
}

bool DeviceMemory::free_cached(Block* block) {
  if (C10_UNLIKELY(block->cache == nullptr)) return false;
  std::lock_guard lock(lock_);
  return C10_LIKELY(may_free_cached_) && push_cached(block);
}

}  // namespace torchplug::memory
