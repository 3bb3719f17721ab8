#pragma once
// Reports allocations and frees of device memory to PyTorch's profiler, for profile_memory=True.
// Asking PyTorch whether it profiles memory is a call and a look at thread-local state; so a flag, set while
// any profile runs, is checked first. Any thread may call anything.

#include <c10/core/Allocator.h>
#include <c10/macros/Macros.h>

#include <atomic>

#include "runtime/device.h"

namespace torchplug::memory {

namespace detail {

inline constinit std::atomic<bool> memory_is_watched{false};

}  // namespace detail

// Whether any profile runs, in this thread or another.
inline bool is_memory_watched() noexcept {
  return C10_UNLIKELY(detail::memory_is_watched.load(std::memory_order_relaxed));
}
inline void watch_memory(bool on) noexcept { detail::memory_is_watched.store(on, std::memory_order_relaxed); }

// `bytes`: allocated, or if negative freed. `allocated` and `reserved`: of the device, after that.
inline void report_memory(void* address, int64_t bytes, size_t allocated, size_t reserved,
                          DeviceIndex device) {
  c10::reportMemoryUsageToProfiler(address, bytes, allocated, reserved, {kDeviceType, device});
}

inline void report_out_of_memory(int64_t bytes, size_t allocated, size_t reserved, DeviceIndex device) {
  if (!is_memory_watched()) return;
  c10::reportOutOfMemoryToProfiler(bytes, allocated, reserved, {kDeviceType, device});
}

}  // namespace torchplug::memory
