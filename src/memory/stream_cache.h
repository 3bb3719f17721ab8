#pragma once
// The free small blocks of one stream, in a list for each size: where most allocations find their block, and
// most frees leave it, without a search. Belongs to a DeviceMemory, whose lock guards it.

#include <array>
#include <vector>

#include "memory/block.h"

namespace torchplug::memory {

class StreamCache {
 public:
  static constexpr size_t kSizes = 2049;                  // 0 to 2048 units of the allocator
  static constexpr size_t kMostBytes = size_t{32} << 20;  // what is freed beyond that goes to its pool

  // A block of exactly so many units, or null.
  Block* pop(size_t units) {
    Block* block = lists_[units];
    if (block == nullptr) return nullptr;
    lists_[units] = block->next;
    bytes_ -= block->bytes;
    block->state = BlockState::kAllocated;
    return block;
  }

  // Whether there is room for it.
  bool push(Block* block, size_t units) {
    if (bytes_ + block->bytes > kMostBytes) return false;
    block->next = lists_[units];
    lists_[units] = block;
    bytes_ += block->bytes;
    block->state = BlockState::kCached;
    return true;
  }

  // Removes all blocks of at least so many units.
  std::vector<Block*> clear(size_t units) {
    std::vector<Block*> blocks;
    for (size_t size = units; size < kSizes; ++size) {
      while (Block* block = pop(size)) blocks.push_back(block);
    }
    return blocks;
  }

  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
  std::array<Block*, kSizes> lists_{};
};

}  // namespace torchplug::memory
