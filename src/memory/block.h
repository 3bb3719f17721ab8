#pragma once
// A piece of device memory as PyTorch holds it: a part of a segment that the plugin gave, or memory that
// somebody else made. Blocks of a segment belong to the allocator of their device (BlockPool); whoever
// holds one as a DataPtr's context may read it. What changes while it is held is guarded by its BlockPool.

#include <c10/core/Allocator.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/stream.h"

namespace torchplug::memory {

// Requests up to this size are cut from segments for small blocks.
inline constexpr size_t kSmallSize = size_t{1} << 20;

// The multiple of `unit` from `value` on; `value` itself where that does not fit into a size_t.
constexpr size_t round_up(size_t value, size_t unit) {
  return std::max((value + unit - 1) / unit * unit, value);
}

struct Segment;
class Shelf;

enum class BlockState : uint8_t {
  kAway,      // with a user, or on its stream's shelf
  kPending,   // given back, but other streams may still use it
  kFree,      // in its pool's heap
  kUnmapped,  // addresses of an expandable segment without memory behind them
};

struct Block {
  char* address;  // what PyTorch holds; only arithmetic may be done on it
  void* base;     // what the plugin calls the memory that it lies in
  char* view;     // where the host may reach `address` in stream order, or null
  size_t bytes;
  size_t requested;
  Stream stream;
  std::vector<Stream> used_on;  // other streams than its own
  Block* next = nullptr;        // on its shelf
  uint32_t flags = 0;           // PLUG_MEM_*

  Shelf* shelf = nullptr;      // where it can be put back quickly; null: it goes the slow way
  uint64_t offset = 0;         // of `address` past `base`
  Segment* segment = nullptr;  // null: not the allocator's own
  Block* before = nullptr;     // its neighbours in the segment
  Block* after = nullptr;
  BlockState state = BlockState::kAway;
  uint32_t awaited = 0;                                     // events that it waits for
  uint64_t idle_since = 0;                                  // in searches of its heap
  std::shared_ptr<c10::GatheredContext> context = nullptr;  // who allocated it, if that is recorded

  bool is_split() const { return before != nullptr || after != nullptr; }
  bool is_free() const { return state == BlockState::kFree; }
};

}  // namespace torchplug::memory
