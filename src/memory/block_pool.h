#pragma once
// The memory of one device, for DeviceAllocator: cached, split and joined, reused in stream order.
//
// A small block that lies on its stream's shelf is had and given back under the shelf's lock alone. The rest
// goes through the heaps of a MemoryPool, under the lock of the Books. Neither lock is held while the plugin
// is asked for anything: whoever gets memory from it or gives it back holds growth_lock_, which nobody needs
// who only frees. Order: the lock of PLUG_SERIALIZE, growth_lock_, the Books, a shelf.

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "memory/allocator_settings.h"
#include "memory/device_allocator.h"
#include "memory/memory_history.h"
#include "memory/memory_pool.h"
#include "memory/memory_snapshot.h"
#include "memory/pending_uses.h"

namespace torchplug::memory {

class BlockPool {
 public:
  explicit BlockPool(DeviceIndex device);

  // A small block from the stream's shelf, or nothing.
  inline Block* take_quickly(const Stream& stream, size_t bytes);
  // Whether the block could be put back on its shelf.
  inline bool give_quickly(Block* block) const;

  // A cached block or a new one, at least `bytes` long; throws c10::OutOfMemoryError.
  Block* take(const Stream& stream, size_t bytes);
  // The user is done with the block; other streams it was used on may not be.
  void give(Block* block);
  // Works on any block of the device, whoever made it.
  void record_use(Block* block, const Stream& user);
  // The block that an address in a segment lies in.
  Block* block_at(const Segment& segment, const void* address);

  // Gives the plugin back every segment nobody uses a part of, but for those of private pools that have
  // users; with a pool: of that one alone. Waits for the device.
  void release_cached(std::optional<c10::MempoolId_t> pool);

  // See DeviceAllocator.
  void begin_allocate_to(c10::MempoolId_t pool, std::function<bool(const Stream&)> goes_there, bool captures);
  void end_allocate_to(c10::MempoolId_t pool);
  void make_pool(c10::MempoolId_t pool, const PoolOptions& options);
  void release_pool(c10::MempoolId_t pool);
  int users_of(c10::MempoolId_t pool);

  void set_fraction(double fraction);
  double fraction();
  // Whether memory that is given back is kept for reuse, and where it comes from. Only for what is made
  // later.
  void set_caching(bool caching);
  void set_source(std::shared_ptr<MemorySource> source);

  using Stats = Books::Stats;
  Stats stats();
  void reset_accumulated_stats();
  void reset_peak_stats();
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
    size_t bytes;    // what was asked for
    size_t rounded;  // what a block must hold
    bool is_small;
    AllocatorSettings settings;
    Context context;
    MemoryPool* pool = nullptr;
  };
  struct Redirection {
    c10::MempoolId_t pool;
    std::function<bool(const Stream&)> goes_there;
    bool captures;
  };
  // What is on its way back to the plugin.
  struct Leaving {
    std::vector<Segment*> segments;
    std::vector<BlockHeap::Range> ranges;
    bool is_empty() const { return segments.empty() && ranges.empty(); }
  };
  using Kind = Books::Kind;

  static Kind kind_of(bool is_small) { return is_small ? Kind::SMALL_POOL : Kind::LARGE_POOL; }
  static Kind kind_of(const Block& block) { return kind_of(block.segment->is_small); }

  Request request(const Stream& stream, size_t bytes) const;
  SplitRules rules(const Request& request) const;
  bool can_expand(const Request& request) const;

  // With the books open:
  MemoryPool& pool_for(const Stream& stream);
  MemoryPool& use_pool(c10::MempoolId_t id);
  Shelf& make_shelf(const Stream& stream);
  // The shelf that counts the block, or nothing if the books do.
  Shelf* counting_shelf(const Block& block);
  Block* find(Request& request);
  Block* find_in(MemoryPool& pool, const Request& request);
  Block* hand_out(const Request& request, Block* block);
  void count_given(const Block& block);
  void put_away(const std::vector<Block*>& blocks);
  void empty_shelves();
  void note_idle();
  bool is_capturing() const;
  void permit_quick_ways();
  void record(const char* action, const Block& block, const Context& context);
  void describe(const Segment& segment, const std::set<const Block*>& shelved,
                std::vector<SegmentInfo>& infos) const;
  Segment& add_segment(const Request& request, std::unique_ptr<Segment> segment);
  void count_growth(const Segment& segment, uint64_t address, size_t bytes, const Context& context);
  void count_shrinkage(const Segment& segment, uint64_t address, size_t bytes);

  // With the books closed:
  void give_now(Block* block, const Context& context);
  void give_later(Block* block, const Context& context);
  void give_uncached(Block* block, const Context& context);
  // Blocks whose other streams have passed are free again.
  void take_back_passed();
  bool is_allowed(size_t bytes, std::string& said);
  void free_segment(Segment& segment);

  // With growth_lock_ held and the books closed. Where there is no memory, `said` tells what the plugin said.
  Block* take_new(Request& request);
  Block* take_uncached(Request& request);
  Block* retry(Request& request, size_t size, std::string& said);
  // Asks for memory and finds the block in it, or nothing.
  Block* grow(Request& request, size_t bytes, std::string& said);
  Block* grow_in_place(Request& request, size_t bytes, std::string& said);
  bool reserve_room(const Request& request, std::string& said);
  std::unique_ptr<Segment> make_segment(const Request& request, void* base, size_t bytes) const;
  void collect_garbage(const Request& request);
  void release(std::optional<c10::MempoolId_t> pool);
  Leaving take_leaving(std::optional<c10::MempoolId_t> only);
  void put_back(const Leaving& leaving);
  void let_go(const Leaving& leaving);
  void unmap(const BlockHeap::Range& range);
  void free_unmapped(const Leaving& leaving);
  void forget_empty_pools();
  void synchronize();
  [[noreturn]] void throw_out_of_memory(const Request& request, const std::string& said);

  const DeviceIndex device_;
  const size_t unit_;  // of blocks, a power of two
  const int unit_shift_;
  // By stream; those with other ids are few, and go the slow way.
  static constexpr size_t kShelves = 4096;
  std::array<std::atomic<Shelf*>, kShelves> shelves_{};
  PendingUses<Block> pending_;

  std::mutex growth_lock_;
  Books books_;  // opened to use what follows
  std::map<c10::StreamId, Shelf*> more_shelves_;
  BlockStore store_;
  MemoryPool own_;
  std::map<c10::MempoolId_t, std::unique_ptr<MemoryPool>> private_pools_;
  std::map<const char*, std::unique_ptr<Segment>> segments_;
  std::vector<Redirection> redirections_;
  std::vector<Block*> deferred_;  // given back during a capture, while their streams could not be asked
  MemoryHistory history_;
  std::optional<double> fraction_;
  bool caches_ = true;
};

// Whether begin_allocate_to_pool has said so of any device.
bool is_any_capture_underway() noexcept;

// Whether any block is out of the host's reach though the plugin gives host views.
bool has_hidden_blocks() noexcept;
// One more, or with -1 one less, that the pools did not make.
void count_hidden_block(int change) noexcept;

Block* BlockPool::take_quickly(const Stream& stream, size_t bytes) {
  const size_t place = (bytes + unit_ - 1) >> unit_shift_;
  const auto id = static_cast<size_t>(stream.id());
  if (C10_UNLIKELY(place >= Shelf::kPlaces || id >= kShelves)) return nullptr;
  Shelf* shelf = shelves_[id].load(std::memory_order_acquire);
  return C10_LIKELY(shelf != nullptr) ? shelf->take(place, place << unit_shift_, bytes) : nullptr;
}

bool BlockPool::give_quickly(Block* block) const {
  return C10_LIKELY(block->shelf != nullptr) && block->shelf->give(block, block->bytes >> unit_shift_);
}

}  // namespace torchplug::memory
