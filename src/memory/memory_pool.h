#pragma once
// A set of segments whose blocks are given only to those who ask this pool: the device's own, a capture's, or
// a user's. Belongs to a BlockPool; the lock of its Books guards it.

#include <memory>
#include <utility>

#include "memory/block_heap.h"
#include "memory/memory_source.h"

namespace torchplug::memory {

struct MemoryPool {
  MemoryPool(c10::MempoolId_t id, BlockStore& store, std::shared_ptr<MemorySource> source)
      : id(std::move(id)),
        small(store, /*is_small=*/true),
        large(store, /*is_small=*/false),
        source(std::move(source)) {}

  c10::MempoolId_t id;
  BlockHeap small;
  BlockHeap large;
  std::shared_ptr<MemorySource> source;
  int users = 0;
  size_t segments = 0;
  bool may_split = true;
  bool helps_others = false;  // whether its free blocks serve when the device has no memory left

  bool is_private() const { return id != c10::MempoolId_t{0, 0}; }
  BlockHeap& heap(bool is_small) { return is_small ? small : large; }
};

}  // namespace torchplug::memory
