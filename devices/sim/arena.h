#pragma once
// The memory of one device: a range of addresses, mapped twice, and what is allocated in it. Addresses
// are plenty and memory is not: a device runs out when its bytes are used up, not when what is free
// lies scattered.
// The guarded view is what PyTorch holds, and any access to it faults; the open view is what
// kernels, copies and borrowed operators use. Owned by a Device; any thread may call anything.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "free_ranges.h"
#include "mapping.h"

namespace torchplug::sim {

class Arena {
 public:
  static constexpr std::uint64_t kAlignment = 512;

  // `limit` is a multiple of kAlignment; `owner` is for messages, as in "sim:0".
  Arena(std::string owner, std::uint64_t limit);

  // A guarded address. Sizes are rounded up to kAlignment, and zero bytes take as much as one, so
  // that every allocation has an address of its own.
  void* allocate(std::uint64_t bytes);
  void release(void* base);

  // The open address of an allocation.
  std::byte* view(const void* base) const;

  // Where an allocation lies in the file that all of the device's memory is.
  struct Place {
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  Place place_of(const void* base) const;
  const MemoryFile& file() const noexcept { return file_; }

  // The open address of `bytes` bytes at base + offset. Checks that they lie in the arena, not that
  // they are allocated: it is on the path of every kernel and takes no lock.
  std::byte* resolve(const void* base, std::uint64_t offset, std::uint64_t bytes) const;

  std::uint64_t free_bytes() const;
  std::uint64_t total_bytes() const noexcept { return limit_; }

 private:
  // Guarded by mutex_. The size of the allocation at `base`; fails where there is none.
  std::uint64_t allocated_size(const void* base) const;
  std::uint64_t offset_of(const void* base) const noexcept;

  const std::string owner_;
  const std::uint64_t limit_;
  const std::uint64_t extent_;  // of the addresses
  const MemoryFile file_;
  const Mapping guarded_;
  const Mapping open_;

  mutable std::mutex mutex_;  // guards what follows
  FreeRanges free_;
  std::uint64_t used_ = 0;
  std::unordered_map<const void*, std::uint64_t> allocated_;  // guarded address to rounded size
};

}  // namespace torchplug::sim
