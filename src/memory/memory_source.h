#pragma once
// Where segments come from: the plugin, or functions that a user put in its place. Shared by the pools that
// use it; any thread may call it, and no lock of the allocator is held that a free needs.

#include <memory>
#include <string>

#include "runtime/stream.h"

namespace torchplug::memory {

class MemorySource {
 public:
  virtual ~MemorySource() = default;

  // PLUG_NO_MEMORY is a normal answer; `base` is then left alone.
  virtual plug_status allocate(const Stream& stream, size_t bytes, void** base) = 0;
  // All work that uses the memory is done, unless orders_frees().
  virtual void release(const Stream& stream, void* base, size_t bytes) = 0;
  // Whether release() waits for the stream itself.
  virtual bool orders_frees() const { return false; }
};

// mem_alloc and mem_free.
std::shared_ptr<MemorySource> plugin_memory();

// Functions like those of torch.cuda.memory's pluggable allocators. What `allocate` returns is memory as the
// plugin knows it; null: there is none.
using AllocateFunction = void* (*)(ssize_t bytes, int device, void* stream);
using ReleaseFunction = void (*)(void* base, ssize_t bytes, int device, void* stream);
std::shared_ptr<MemorySource> pluggable_memory(AllocateFunction allocate, ReleaseFunction release);

}  // namespace torchplug::memory
