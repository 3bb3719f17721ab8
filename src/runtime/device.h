#pragma once
// The devices there are: how many, what they are, which plugin each is of, which is current on this thread.
// TORCHPLUG_VISIBLE_DEVICES says which of the plugin's devices there are for PyTorch, and in which order.
// A device is opened at its first use. After fork() the child may use a device only if the parent
// never opened one; otherwise every use is an error that says so. A device that was lost (PLUG_LOST) stays
// lost: every use of it is that error, and what it gave is released in silence.

#include <c10/core/Device.h>
#include <c10/macros/Macros.h>

#include <array>
#include <atomic>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plugin/module.h"

namespace torchplug::runtime {

using c10::DeviceIndex;
inline constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;

struct DeviceInfo {
  std::string name;
  std::string bus_id;
  std::string uuid;
  uint64_t total_bytes = 0;
  uint64_t alignment = 1;
  uint64_t map_bytes = 0;  // the unit of mem_map
  uint32_t flags = 0;
  uint32_t processor_count = 0;
  int32_t capability_major = 0;
  int32_t capability_minor = 0;
  int32_t priority_high = 0;
  int32_t priority_low = 0;
  uint64_t largest_bytes = 0;  // of one mem_alloc; 0: there is no such limit
  uint64_t cache_bytes = 0;    // 0: unknown, as for the two below
  uint64_t shared_bytes = 0;
  uint32_t simd_width = 0;
  int32_t dlpack_type = 0;  // a DLDeviceType
  std::vector<plug_dtype> dtypes;

  bool holds(plug_dtype dtype) const;
};

// Who knows the plugin whose devices these are, called when they are first asked for. It throws if the plugin
// cannot be loaded; every use of a device then throws the same, until the next call of this.
void set_module_loader(const Module& (*load)()) noexcept;

// Zero if there is no plugin, or it cannot say. Asks it for nothing else.
DeviceIndex device_count() noexcept;
// Whether they have been asked for already.
bool are_devices_known() noexcept;
// Its place among the devices. Throws if there is no such device, or in the plugin's words why it cannot
// count them.
size_t check_device(DeviceIndex device);
const DeviceInfo& device_info(DeviceIndex device);

// The plugin that the device is of.
inline const Module& module_of(DeviceIndex device);
// The plugin for what names no device, as pinned host memory: that of the first device; null if there is
// none.
const Module* module_for_host();
inline bool has_streams(DeviceIndex device) { return module_of(device).has_streams(); }
// Whether captures on the device are torchplug's own, since the plugin has none, or not for this device.
inline bool emulates_capture(DeviceIndex device);
// What PyTorch calls devices of this kind: "sim".
std::string device_type_name();

// What the plugin calls the device. Every index that crosses plug.h is one of these.
int32_t plugin_index(DeviceIndex device);
// For a device that has been opened.
inline int32_t unchecked_plugin_index(DeviceIndex device) noexcept;
// The other way round; -1 for a device that is not visible.
DeviceIndex visible_index(int32_t plugins) noexcept;

DeviceIndex current_device() noexcept;
void set_current_device(DeviceIndex device);
// A negative index leaves the current device alone.
DeviceIndex exchange_current_device(DeviceIndex device);
void unchecked_set_current_device(DeviceIndex device) noexcept;

// Every function that reaches the plugin begins here.
inline void ensure_open(DeviceIndex device);
inline bool is_open(DeviceIndex device) noexcept;
inline bool is_lost(DeviceIndex device) noexcept;
// Whether what the plugin gave for the device may be released: it is open, or lost.
inline bool may_give_back(DeviceIndex device) noexcept;
bool is_forked() noexcept;
// Arranges for the plugin to be shut down when the process ends, and for failures nobody saw to be printed.
void shut_down_at_exit();

// Whether TORCHPLUG_LAUNCH_BLOCKING asks every call to wait for its work.
bool launch_blocking() noexcept;

// Throws for every status but PLUG_OK: what was being done, on which device, in the plugin's words. After
// PLUG_LOST the device is lost. `sequence`: of the call, whose words those of an earlier one are not; 0: of a
// call without a number. `function`: plug.h's name for what was called, where `what` is not.
void check(plug_status status, const char* what, DeviceIndex device, uint64_t sequence = 0,
           const char* function = nullptr);

// While it lives, errors of the thread's calls of the plugin say for which operator they were made. `name`
// outlives it.
class CallsFor {
 public:
  explicit CallsFor(const char* name) noexcept : before_(std::exchange(called_for, name)) {}
  ~CallsFor() { called_for = before_; }
  CallsFor(const CallsFor&) = delete;
  CallsFor& operator=(const CallsFor&) = delete;
  static const char* current() noexcept { return called_for; }

 private:
  static constinit thread_local const char* called_for;
  const char* before_;
};

// Whether the plugin has the function, and has it for this device:
// plugin_has<&plug_runtime::host_func>(device).
template <auto Function>
bool plugin_has(DeviceIndex device);

// Calls the function for the device, whose index in the plugin is the first argument; gives the answer.
template <auto Function, class... Args>
plug_status ask_plugin(DeviceIndex device, Args... args);
// Calls the function for the device, and throws for every answer but PLUG_OK.
template <auto Function, class... Args>
void call_plugin(DeviceIndex device, Args... args) {
  check(ask_plugin<Function>(device, args...), plugin::kMemberName<Function>, device);
}

// Behind the functions above, which every operator calls.
namespace detail {

enum class Life : uint8_t { kClosed, kOpen, kLost, kForked, kEnded };

// What device_info says that a single device lacks, PLUG_LACKS_*; this before it has been read.
inline constexpr uint32_t kUnread = uint32_t{1} << 31;

struct DeviceSlot {
  std::atomic<Life> life{Life::kClosed};
  int32_t plugins_index = 0;
  const Module* module = nullptr;
  // One of the module's two, known when the device is opened.
  std::atomic<const plugin::Runtime*> runtime{nullptr};
  std::atomic<uint32_t> lacks{kUnread};
};
using DeviceSlots = std::array<DeviceSlot, std::numeric_limits<DeviceIndex>::max() + 1>;
extern DeviceSlots device_slots;

inline Life life_of(DeviceIndex device) noexcept {
  return device_slots[static_cast<size_t>(device)].life.load(std::memory_order_acquire);
}

// The flag by which a device refuses the function; 0: it cannot.
template <auto Function>
inline constexpr uint32_t kRefusal = 0;
template <>
inline constexpr uint32_t kRefusal<&plug_runtime::host_view> = PLUG_LACKS_HOST_VIEW;
template <>
inline constexpr uint32_t kRefusal<&plug_runtime::host_func> = PLUG_LACKS_HOST_FUNC;

// Reads device_info if nobody has.
uint32_t find_lacks(DeviceIndex device);
inline uint32_t lacks_of(DeviceIndex device) {
  const uint32_t lacks = device_slots[static_cast<size_t>(device)].lacks.load(std::memory_order_relaxed);
  return C10_LIKELY(lacks != kUnread) ? lacks : find_lacks(device);
}

void open_device(DeviceIndex device);
const Module& find_module(DeviceIndex device);
void mark_lost(DeviceIndex device) noexcept;

}  // namespace detail

const Module& module_of(DeviceIndex device) {
  if (C10_UNLIKELY(device < 0)) return detail::find_module(device);
  const Module* module = detail::device_slots[static_cast<size_t>(device)].module;
  return C10_LIKELY(module != nullptr) ? *module : detail::find_module(device);
}

namespace detail {

inline const plugin::Runtime& runtime_of(DeviceIndex device) {
  if (C10_UNLIKELY(device < 0)) return find_module(device).runtime;
  const auto& chosen = device_slots[static_cast<size_t>(device)].runtime;
  if (C10_UNLIKELY(chosen.load(std::memory_order_relaxed) == nullptr)) find_module(device);
  return *chosen.load(std::memory_order_relaxed);
}

}  // namespace detail

template <auto Function>
bool plugin_has(DeviceIndex device) {
  const bool has = detail::runtime_of(device).template has<Function>();
  if constexpr (detail::kRefusal<Function> == 0) return has;
  return has && (detail::lacks_of(device) & detail::kRefusal<Function>) == 0;
}

template <auto Function, class... Args>
plug_status ask_plugin(DeviceIndex device, Args... args) {
  return detail::runtime_of(device).template call<Function>(plugin_index(device), args...);
}

bool emulates_capture(DeviceIndex device) {
  return &detail::runtime_of(device) == &module_of(device).emulating;
}

int32_t unchecked_plugin_index(DeviceIndex device) noexcept {
  return detail::device_slots[static_cast<size_t>(device)].plugins_index;
}

bool is_open(DeviceIndex device) noexcept {
  return device >= 0 && detail::life_of(device) == detail::Life::kOpen;
}

bool is_lost(DeviceIndex device) noexcept {
  return device >= 0 && detail::life_of(device) == detail::Life::kLost;
}

bool may_give_back(DeviceIndex device) noexcept { return is_open(device) || is_lost(device); }

void ensure_open(DeviceIndex device) {
  if (C10_UNLIKELY(!is_open(device))) detail::open_device(device);
}

}  // namespace torchplug::runtime
