#pragma once
// The free blocks of one memory pool, either its small or its large ones: allocating finds the best fit and
// cuts it to size, freeing joins a block with its free neighbours. The rules are those that PyTorch documents
// for its own caching allocator. Belongs to a MemoryPool; the lock of the DeviceMemory guards it.

#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "memory/segment.h"
#include "memory/statistics.h"

namespace torchplug::memory {

// Block objects, used again and again.
class BlockStore {
 public:
  Block* make(const Block& block);
  void release(Block* block);

 private:
  std::deque<Block> blocks_;
  Block* spare_ = nullptr;
};

struct SplitRules {
  size_t unit = 512;  // the smallest block
  size_t max_split = std::numeric_limits<size_t>::max();
  size_t max_rounding = 0;  // what an unsplittable block may be too long by
  bool may_split = true;
  bool expandable = false;  // whether expandable segments are used
};

class FreeBlocks {
 public:
  FreeBlocks(BlockStore& store, Statistics& statistics, bool is_small)
      : store_(store), statistics_(statistics), is_small_(is_small) {}

  // The smallest free block of the stream that holds `bytes`, cut to size where the rules say so; or null.
  Block* allocate(const Stream& stream, size_t bytes, const SplitRules& rules);
  // Joined with its free neighbours.
  void free(Block* block);

  // A new segment: one free block, or addresses without memory if it is expandable.
  void add(Segment& segment);
  // Removes segments that are one free block, if `is_wanted` says so.
  std::vector<Segment*> remove_whole(const std::function<bool(const Block&)>& is_wanted);
  // Undoes that for one of them.
  void restore_whole(Segment& segment);

  // An unmapped block by which `bytes` could be allocated if memory were mapped there, or null. What is free
  // right before it counts.
  Block* find_unmapped(const Stream& stream, size_t bytes) const;
  // Memory is now behind the first `bytes` of an unmapped block.
  void map(Block* block, size_t bytes);
  // Whole units of free blocks in expandable segments become unmapped blocks.
  struct Range {
    Segment* segment;
    uint64_t offset;
    size_t bytes;
  };
  std::vector<Range> unmap(size_t unit);
  // Undoes that for one of them.
  void restore_mapping(const Range& range);
  static bool is_wholly_unmapped(const Segment& segment);
  void remove_unmapped(Segment& segment);

  size_t largest() const;
  uint64_t searches() const { return searches_; }

  template <class Function>
  void for_each(const Function& function) const {
    for (const Block* block : free_) function(*block);
  }

 private:
  struct BySize {
    using is_transparent = void;
    struct Wanted {
      c10::StreamId stream;
      size_t bytes;
    };
    bool operator()(const Block* a, const Block* b) const;
    bool operator()(const Block* a, const Wanted& b) const;
  };

  struct ByAddress {
    bool operator()(const Block* a, const Block* b) const { return a->address < b->address; }
  };

  using Free = std::set<Block*, BySize>;
  Free::iterator find(const Stream& stream, size_t bytes, const SplitRules& rules);
  Free::iterator best_to_grow(Free::iterator found, c10::StreamId stream);
  void insert(Block* block);
  void remove(Block* block);
  void insert_joined(Block* block);
  // Enters the sum of the changes since the last call: what one operation moves about was free all the time.
  void count_inactive_splits();
  bool should_split(const Block& block, size_t bytes, const SplitRules& rules) const;
  // Cuts the block; returns what follows it.
  Block* cut(Block* block, size_t bytes);
  // Makes `right` part of `left`.
  void join(Block* left, Block* right);
  void join_unmapped(Block* block);

  BlockStore& store_;
  Statistics& statistics_;
  bool is_small_;
  Free free_;
  std::set<Block*, ByAddress> unmapped_;
  InactiveSplits uncounted_;
  uint64_t searches_ = 0;
};

}  // namespace torchplug::memory
