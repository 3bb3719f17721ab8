#pragma once
// What differs between the releases of PyTorch that torchplug is built against.

#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/headeronly/version.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "base/namespaces.h"

// torch.accelerator.Graph, and the registry that a device enters its graphs in, are there from 2.12 on.
#if __has_include(<ATen/core/GraphImplInterface.h>)
#define TORCHPLUG_HAS_ACCELERATOR_GRAPH
#endif

// Kineto's headers, in the wheel, include {fmt}'s, which not every wheel has. Only what is compiled with
// Kineto's folder among its include paths may ask.
#if __has_include(<libkineto.h>) && __has_include(<fmt/format.h>)
#define TORCHPLUG_HAS_KINETO
#endif

namespace torchplug::base::compat {

// A setting from 2.12 on; before that a constant of 20 MiB.
template <class Config = c10::CachingAllocator::AcceleratorAllocatorConfig>
size_t large_segment_size() {
  if constexpr (requires { Config::large_segment_size(); }) {
    return Config::large_segment_size();
  } else {
    return size_t{20} << 20;
  }
}

// The two limits on pinned blocks are settings from 2.13 on; before that there were none.
template <class Config = c10::CachingAllocator::AcceleratorAllocatorConfig>
size_t pinned_max_round_threshold() {
  if constexpr (requires { Config::pinned_max_round_threshold(); }) {
    return Config::pinned_max_round_threshold();
  } else {
    return std::numeric_limits<size_t>::max();
  }
}

template <class Config = c10::CachingAllocator::AcceleratorAllocatorConfig>
size_t pinned_max_cached_size() {
  if constexpr (requires { Config::pinned_max_cached_size(); }) {
    return Config::pinned_max_cached_size();
  } else {
    return std::numeric_limits<size_t>::max();
  }
}

// What each private pool reserves is a statistic from 2.13 on; before that null, and no pool.
template <class DeviceStats>
c10::CachingAllocator::StatArray* reserved_bytes_of_private_pool(DeviceStats& stats, c10::MempoolId_t pool) {
  if constexpr (requires { stats.reserved_bytes_by_private_pools; }) {
    return &stats.reserved_bytes_by_private_pools[pool];
  } else {
    return nullptr;
  }
}

template <class DeviceStats, class Function>
void for_each_private_pool(DeviceStats& stats, const Function& function) {
  if constexpr (requires { stats.reserved_bytes_by_private_pools; }) {
    for (auto& [pool, reserved_bytes] : stats.reserved_bytes_by_private_pools) function(reserved_bytes);
  }
}

// A kind of its own from 2.12 on.
template <class OpType>
constexpr OpType reduce_scatter_tensor_coalesced() {
  if constexpr (requires { OpType::REDUCE_SCATTER_TENSOR_COALESCED; }) {
    return OpType::REDUCE_SCATTER_TENSOR_COALESCED;
  } else {
    return OpType::_REDUCE_SCATTER_BASE;
  }
}

// Held while a process group of the host is given work. gloo tells the flight recorder of each collective,
// and before 2.13 (pytorch/pytorch#179449) that changes a map without a lock: two groups on two threads
// crash.
inline std::unique_lock<std::mutex> lock_flight_recorder() {
  static std::mutex mutex;
  constexpr bool locks_itself = TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13;
  return locks_itself ? std::unique_lock<std::mutex>() : std::unique_lock(mutex);
}

// A node of the autograd graph: before 2.13 held by std::shared_ptr, and freed by a function that does not
// recurse.
template <class Node, class... Args>
auto make_node(Args&&... args) {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, Node>) {
    return c10::make_intrusive<Node>(std::forward<Args>(args)...);
  } else {
    auto node = std::make_unique<Node>(std::forward<Args>(args)...);
    return std::shared_ptr<Node>(node.release(), [](Node* freed) { deleteNode(freed); });
  }
}

// A lane of a trace: before 2.13 its constructor takes the members in another order.
template <class ResourceInfo>
ResourceInfo resource_info(int64_t device, int64_t lane, const std::string& name) {
  if constexpr (std::is_aggregate_v<ResourceInfo>) {
    return {.id = lane, .sortIndex = lane, .deviceId = device, .name = name};
  } else {
    return {device, lane, lane, name};
  }
}

}  // namespace torchplug::base::compat
