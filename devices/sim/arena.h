#pragma once
// The memory of one device: a range of addresses, mapped twice, and what is allocated in it. Addresses
// are plenty and memory is not: a device runs out when its bytes are used up, not when what is free
// lies scattered.
// The guarded view is what PyTorch holds, and any access to it faults; the open view is what
// kernels, copies and borrowed operators use. Addresses can also be reserved, and memory mapped into parts
// of them later; until then the open view faults there too. Owned by a Device; any thread may call anything.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

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

  // Addresses without memory, and memory for a part of them. Sizes and offsets are multiples of kMapUnit.
  static constexpr std::uint64_t kMapUnit = 2 << 20;
  void* reserve(std::uint64_t bytes);
  void unreserve(void* base);
  void map(void* base, std::uint64_t offset, std::uint64_t bytes);
  void unmap(void* base, std::uint64_t offset, std::uint64_t bytes);

  // The open address of an allocation or a reservation.
  std::byte* view(const void* base) const;

  // Where an allocation or a reservation lies in the file that all of the device's memory is.
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
  struct Reservation {
    std::uint64_t taken_offset;  // what free_ gave: more than is used, so that the rest begins on a page
    std::uint64_t taken_size;
    std::vector<bool> mapped;  // by unit
  };

  // Guarded by mutex_. The units [offset, offset + bytes) of a reservation, all of which are mapped or not.
  Reservation& reserved_range(const void* base, std::uint64_t offset, std::uint64_t bytes, bool mapped);
  // Lets the open view of the range be used, or not.
  void open(const void* base, std::uint64_t offset, std::uint64_t bytes, bool usable) const;
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
  std::unordered_map<const void*, Reservation> reserved_;
};

}  // namespace torchplug::sim
