#pragma once
// The segments and blocks of the allocators, as PyTorch's memory visualiser shows them.

#include <vector>

#include "memory/memory_history.h"

namespace torchplug::memory {

struct BlockInfo {
  uint64_t address;
  size_t bytes;
  size_t requested;
  const char* state;  // active_allocated, active_pending_free or inactive
  Context context;
};

struct SegmentInfo {
  DeviceIndex device;
  uint64_t address;
  size_t total_bytes = 0;
  size_t allocated_bytes = 0;
  size_t active_bytes = 0;
  size_t requested_bytes = 0;
  c10::StreamId stream;
  c10::MempoolId_t pool;
  bool is_small;
  bool is_expandable;
  Context context;
  std::vector<BlockInfo> blocks;
};

struct MemorySnapshot {
  std::vector<SegmentInfo> segments;
  std::vector<std::vector<TraceEntry>> traces;  // by device
  std::vector<Annotation> annotations;
};

}  // namespace torchplug::memory
