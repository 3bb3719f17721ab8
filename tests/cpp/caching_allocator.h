#pragma once
// The allocator of device memory as the tests of it call it.

#include "memory/device_allocator.h"
#include "sim_device.h"

namespace torchplug::tests {

inline constexpr size_t kBytes = 4096;  // of an allocation whose size does not matter
inline constexpr size_t kMiB = size_t{1} << 20;

inline DeviceAllocator& allocator() { return DeviceAllocator::instance(); }

inline auto stats(int device = 0) { return allocator().getDeviceStats(static_cast<DeviceIndex>(device)); }

inline int64_t reserved() { return stats().reserved_bytes[0].current; }

inline c10::DataPtr allocate(size_t bytes) { return allocator().allocate_on(Stream::default_of(0), bytes); }

// Allocates and lets go at once; gives the address.
inline const void* touch(const Stream& stream, size_t bytes) {
  return allocator().allocate_on(stream, bytes).get();
}

}  // namespace torchplug::tests
