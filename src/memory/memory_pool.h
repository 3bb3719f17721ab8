#pragma once
// A set of segments from which only those allocate who are sent to this pool: the device's own, a capture's,
// or a user's. Belongs to a DeviceMemory, whose lock guards it.

#include <memory>
#include <utility>

#include "memory/free_blocks.h"
#include "memory/memory_source.h"

namespace torchplug::memory {

struct MemoryPool {
  MemoryPool(c10::MempoolId_t id, BlockStore& store, Statistics& statistics,
             std::shared_ptr<MemorySource> source)
      : id(std::move(id)),
        small(store, statistics, /*is_small=*/true),
        large(store, statistics, /*is_small=*/false),
        source(std::move(source)) {}

  c10::MempoolId_t id;
  FreeBlocks small;
  FreeBlocks large;
  std::shared_ptr<MemorySource> source;
  int users = 0;
  size_t segments = 0;
  bool may_split = true;
  bool use_on_oom = false;  // whether its free blocks serve others when the device has no memory left

  bool is_private() const { return id != c10::MempoolId_t{0, 0}; }
  FreeBlocks& free_blocks(bool is_small) { return is_small ? small : large; }
};

}  // namespace torchplug::memory
