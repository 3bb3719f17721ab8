#pragma once
// Memory as the plugin gives it: one allocation, or a range of addresses that memory is mapped into as it
// is needed. Belongs to the BlockPool of its device; its blocks fill it without gaps.

#include <utility>

#include "memory/block.h"

namespace torchplug::memory {

struct MemoryPool;

struct Segment {
  explicit Segment(Block all) : whole(std::move(all)) { whole.segment = this; }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  Block whole;  // what the address index knows; never given out
  Block* first = nullptr;
  MemoryPool* pool = nullptr;
  bool is_small = false;
  bool is_expandable = false;
  bool is_cached = true;                          // whether its memory is kept when its block is given back
  std::shared_ptr<c10::GatheredContext> context;  // who needed it, if that is recorded

  const Stream& stream() const { return whole.stream; }
};

}  // namespace torchplug::memory
