#pragma once
// Memory as the plugin allocates it: one allocation, or a range of addresses that memory is mapped into as it
// is needed. Belongs to the DeviceMemory of its device; its blocks fill it without gaps.

#include <utility>

#include "memory/block.h"

namespace torchplug::memory {

struct MemoryPool;

struct Segment {
  explicit Segment(Block all) : whole(std::move(all)) { whole.segment = this; }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  Block whole;  // what the address index knows; never allocated itself
  Block* first = nullptr;
  MemoryPool* pool = nullptr;
  bool is_small = false;
  bool is_expandable = false;
  bool is_cached = true;                          // whether its memory is kept when its block is freed
  std::shared_ptr<c10::GatheredContext> context;  // who needed it, if that is recorded

  const Stream& stream() const { return whole.stream; }
};

// Whether the block, while it is free, keeps the plugin from getting its memory back: it is a part of a
// segment. Of an expandable segment parts can be unmapped.
inline bool is_inactive_split(const Block& block) {
  return block.is_split() && !block.segment->is_expandable;
}

}  // namespace torchplug::memory
