#pragma once
// A host view for a while, of memory that has no lasting one: the plugin's host_map and host_unmap.
// While a thread has memory of a device mapped, no other gives work to the device, which might use it:
// whoever maps holds the gate of the device alone, whoever submits work holds it with others. Where the
// plugin has no host_map there is no gate, and submitting costs a load and a branch more. Any thread may use
// it.
// What a plugin fails to unmap stays mapped: it is unmapped before the next time that a thread maps memory of
// the device, or before the memory is freed, and until then not mapped again.

#include <c10/macros/Macros.h>

#include <atomic>
#include <vector>

#include "runtime/stream.h"

namespace torchplug::runtime {

// Ranges of one device's memory, mapped by the calling thread.
class HostMaps {
 public:
  // Whether the calling thread may map memory of the device: the plugin maps, and the thread holds no gate
  // yet.
  static bool are_possible(DeviceIndex device);

  // Waits until no other thread submits work or maps, then for the stream. Throws if something is mapped that
  // the plugin failed to unmap and still does.
  explicit HostMaps(const Stream& stream);
  // Unmaps what is mapped, whatever the plugin says.
  ~HostMaps();
  HostMaps(const HostMaps&) = delete;
  HostMaps& operator=(const HostMaps&) = delete;

  // Where the host may use the range, which overlaps none that is mapped, with PLUG_MAP_* `flags`; null if
  // the plugin leaves it to copies.
  void* map(const plug_mem& memory, uint64_t bytes, uint32_t flags);
  // Unmaps all, and lets others submit work.
  void unmap();

  // Before memory of the device is freed: unmaps what the plugin failed to unmap, as far as it does now.
  static void unmap_left(DeviceIndex device) noexcept;

 private:
  struct Range {
    plug_mem memory;
    uint64_t bytes;
    void* view;
  };
  // `ranges`: what is left of them are those that the plugin failed to unmap. The first status but PLUG_OK.
  static plug_status unmap_all(DeviceIndex device, std::vector<Range>& ranges) noexcept;
  plug_status unmap_quietly() noexcept;
  // Of the device, under its gate.
  static std::vector<Range>& left_mapped(DeviceIndex device);

  DeviceIndex device_;
  std::vector<Range> ranges_;
  bool is_gate_held_ = true;
};

namespace detail {

extern std::atomic<bool> has_gates;
// Whether the gate was taken: not if the calling thread maps.
bool enter_gate(DeviceIndex device);
void leave_gate(DeviceIndex device) noexcept;

}  // namespace detail

// Held while work is submitted.
class GateUse {
 public:
  explicit GateUse(DeviceIndex device)
      : device_(device),
        is_held_(C10_UNLIKELY(detail::has_gates.load(std::memory_order_relaxed)) &&
                 detail::enter_gate(device)) {}
  ~GateUse() {
    if (C10_UNLIKELY(is_held_)) detail::leave_gate(device_);
  }
  GateUse(const GateUse&) = delete;
  GateUse& operator=(const GateUse&) = delete;

 private:
  DeviceIndex device_;
  bool is_held_;
};

}  // namespace torchplug::runtime
