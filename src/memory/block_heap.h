#pragma once
// The free blocks of one memory pool, either its small or its large ones: the best fit is found, cut to size,
// and joined with its free neighbours when it comes back. The rules are those that PyTorch documents for its
// own caching allocator. Belongs to a MemoryPool; the lock of the Books guards it.

#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "memory/books.h"
#include "memory/segment.h"

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
  bool expandable = false;  // whether segments that grow are used
};

class BlockHeap {
 public:
  BlockHeap(BlockStore& store, bool is_small) : store_(store), is_small_(is_small) {}

  // The smallest free block of the stream that holds `bytes`, cut to size where the rules say so; or nothing.
  Block* take(const Stream& stream, size_t bytes, const SplitRules& rules);
  // Joined with its free neighbours.
  void give(Block* block);

  // A new segment: one free block, or addresses without memory if it is expandable.
  void add(Segment& segment);
  // Segments that are one free block and that `leaves` says may go. They can no longer be had.
  std::vector<Segment*> take_whole(const std::function<bool(const Block&)>& leaves);
  // The opposite.
  void put_back(Segment& segment) { insert(segment.first); }
  // The segment's memory is gone.
  void forget(Segment& segment) { store_.release(segment.first); }

  // Where `bytes` more bytes could be had by mapping memory: an unmapped block, or nothing. What is free
  // right before it counts.
  Block* find_room(const Stream& stream, size_t bytes) const;
  // Memory is now behind the first `bytes` of an unmapped block.
  void map(Block* block, size_t bytes);
  // Memory is to be taken away from whole units of free blocks in expandable segments: each becomes an
  // unmapped block, of which nothing can be had.
  struct Range {
    Segment* segment;
    uint64_t offset;
    size_t bytes;
  };
  std::vector<Range> unmap(size_t unit);
  // The opposite.
  void map_again(const Range& range);
  // Whether nothing of the segment is mapped.
  static bool is_unmapped(const Segment& segment);
  void forget_unmapped(Segment& segment);

  IdleSplits idle() const { return idle_; }
  size_t largest() const;
  size_t free_bytes() const { return free_bytes_; }
  uint64_t searches() const { return searches_; }
  bool is_small() const { return is_small_; }

  template <class Function>
  void for_each_free(const Function& function) const {
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
  bool should_split(const Block& block, size_t bytes, const SplitRules& rules) const;
  // Cuts the block; returns what follows it.
  Block* cut(Block* block, size_t bytes);
  // Makes `right` part of `left`.
  void join(Block* left, Block* right);
  void join_unmapped(Block* block);

  BlockStore& store_;
  bool is_small_;
  Free free_;
  std::set<Block*, ByAddress> unmapped_;
  IdleSplits idle_;
  size_t free_bytes_ = 0;
  uint64_t searches_ = 0;
};

}  // namespace torchplug::memory
