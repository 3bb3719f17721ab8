#include "runtime/host_map.h"

#include <c10/util/Exception.h>

#include <array>
#include <limits>
#include <mutex>
#include <shared_mutex>

#include "base/immortal.h"

namespace torchplug::runtime {
namespace {

using R = plug_runtime;

std::shared_mutex& gate_of(DeviceIndex device) {
  static auto& gates =
      *immortal<std::array<std::shared_mutex, std::numeric_limits<DeviceIndex>::max() + size_t{1}>>();
  return gates[static_cast<size_t>(device)];
}

// Gates that the calling thread holds, with others or alone: to take one more might never end.
constinit thread_local int gates_held = 0;

}  // namespace

constinit std::atomic<bool> detail::has_gates{false};

bool detail::enter_gate(DeviceIndex device) {
  if (gates_held != 0) return false;
  gate_of(device).lock_shared();
  ++gates_held;
  return true;
}

void detail::leave_gate(DeviceIndex device) noexcept {
  --gates_held;
  gate_of(device).unlock_shared();
}

bool HostMaps::are_possible(DeviceIndex device) {
  return plugin_has<&R::host_map>(device) && gates_held == 0;
}

HostMaps::HostMaps(const Stream& stream) : device_(stream.device()) {
  gate_of(device_).lock();
  ++gates_held;
  try {
    stream.synchronize();
    check(unmap_all(device_, left_mapped(device_)), "host_unmap", device_);
  } catch (...) {
    unmap_quietly();
    throw;
  }
}

HostMaps::~HostMaps() {
  if (unmap_quietly() != PLUG_OK) take_plugin_error();
}

void* HostMaps::map(const plug_mem& memory, uint64_t bytes, uint32_t flags) {
  void* view = nullptr;
  const plug_status status = ask_plugin<&R::host_map>(device_, &memory, bytes, flags, &view);
  if (status == PLUG_UNSUPPORTED || status == PLUG_NO_MEMORY) {
    take_plugin_error();
    return nullptr;
  }
  check(status, "host_map", device_);
  TORCH_CHECK(view != nullptr, "Plugin '", device_type_name(), "' returned PLUG_OK from host_map of ", bytes,
              " bytes but no address. It must return PLUG_UNSUPPORTED.");
  ranges_.push_back({memory, bytes, view});
  return view;
}

void HostMaps::unmap() { check(unmap_quietly(), "host_unmap", device_); }

std::vector<HostMaps::Range>& HostMaps::left_mapped(DeviceIndex device) {
  static auto& left =
      *immortal<std::array<std::vector<Range>, std::numeric_limits<DeviceIndex>::max() + size_t{1}>>();
  return left[static_cast<size_t>(device)];
}

plug_status HostMaps::unmap_all(DeviceIndex device, std::vector<Range>& ranges) noexcept {
  plug_status first = PLUG_OK;
  std::erase_if(ranges, [&](const Range& range) {
    const plug_status status = ask_plugin<&R::host_unmap>(device, &range.memory, range.bytes, range.view);
    if (first == PLUG_OK) first = status;
    return status == PLUG_OK;
  });
  return first;
}

void HostMaps::unmap_left(DeviceIndex device) noexcept {
  if (!plugin_has<&R::host_map>(device) || gates_held != 0) return;
  // Whoever maps has unmapped before; and may wait for the caller, who frees.
  const std::unique_lock lock(gate_of(device), std::try_to_lock);
  if (lock && unmap_all(device, left_mapped(device)) != PLUG_OK) take_plugin_error();
}

// All of them, also if the plugin fails to unmap one.
plug_status HostMaps::unmap_quietly() noexcept {
  if (!is_gate_held_) return PLUG_OK;
  const plug_status first = unmap_all(device_, ranges_);
  std::vector<Range>& left = left_mapped(device_);
  left.insert(left.end(), ranges_.begin(), ranges_.end());
  ranges_.clear();
  is_gate_held_ = false;
  --gates_held;
  gate_of(device_).unlock();
  return first;
}

}  // namespace torchplug::runtime
