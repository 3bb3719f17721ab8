#pragma once
// A piece of device memory as PyTorch holds it: a part of a segment that the plugin allocated, or memory that
// came from elsewhere. Blocks of a segment belong to the DeviceMemory of their device; whoever holds one as a
// DataPtr's context may read it. What changes meanwhile is guarded by the lock of the DeviceMemory.

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
class StreamCache;

enum class BlockState : uint8_t {
  kAllocated,
  kPending,   // freed, but other streams may still use it
  kCached,    // free, in the cache of its stream
  kFree,      // free, in its pool, where it is joined with its neighbours
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
  Block* next = nullptr;        // in a list of free blocks of one size
  uint32_t flags = 0;           // PLUG_MEM_*

  StreamCache* cache = nullptr;  // where it goes when it is freed; null: to its pool
  uint64_t offset = 0;           // of `address` past `base`
  Segment* segment = nullptr;    // null: not the allocator's own
  Block* before = nullptr;       // its neighbours in the segment
  Block* after = nullptr;
  BlockState state = BlockState::kAllocated;
  uint32_t awaited = 0;                                     // events that it waits for
  uint64_t idle_since = 0;                                  // in searches of the free blocks it is among
  std::shared_ptr<c10::GatheredContext> context = nullptr;  // who allocated it, if that is recorded

  bool is_split() const { return before != nullptr || after != nullptr; }
  bool is_free() const { return state == BlockState::kFree; }
};

}  // namespace torchplug::memory
