#pragma once
// What another process is told of memory or of an event, beside the file descriptor that goes with it:
// plain bytes, written by one process and checked by the other. A value.

#include <cstdint>

namespace torchplug::sim {

enum class HandleKind : std::uint32_t { kMemory = 0x6d6d6973, kEvent = 0x65656973 };

struct Handle {
  HandleKind kind;
  std::int32_t device;
  std::uint64_t offset;  // of the memory, in the file
  std::uint64_t bytes;
};

// The number of bytes written. Fails if there is no room for them.
std::uint64_t write_handle(const Handle& handle, void* to, std::uint64_t capacity);

// Fails unless the bytes are a handle of that kind and of that device.
Handle read_handle(HandleKind kind, std::int32_t device, const void* from, std::uint64_t bytes);

}  // namespace torchplug::sim
