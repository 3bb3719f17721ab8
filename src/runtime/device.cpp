#include "runtime/device.h"

#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <sstream>
#include <string_view>

#include "base/immortal.h"
#include "base/settings.h"
#include "base/utf8.h"
#include "runtime/deferred_warnings.h"
#include "runtime/failure.h"
#include "runtime/host_map.h"

namespace torchplug::runtime {
namespace {

using detail::device_slots;
using detail::DeviceSlot;
using detail::Life;

// What is known once device_count has been asked.
struct Devices {
  size_t count = 0;
  std::string failure;

  // The slots of these devices.
  std::span<DeviceSlot> slots() const { return {device_slots.data(), count}; }
};

std::atomic<const Module& (*)()> module_loader{nullptr};
std::mutex find_lock;
std::atomic<Devices*> known_devices{nullptr};
// By device; read when first asked for. To tell what it is, a plugin may have to open a context, which no
// child of a process that only counted its devices could use.
constinit std::array<std::atomic<const DeviceInfo*>, std::tuple_size_v<detail::DeviceSlots>> infos{};

std::mutex open_lock;
thread_local DeviceIndex current = 0;

std::string hexadecimal(const uint8_t (&bytes)[16]) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < sizeof bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

DeviceInfo read_info(const Module& module, DeviceIndex device, int32_t plugins_index) {
  plug_device_info given{};
  given.size = sizeof given;
  given.alignment = 1;
  check(module.runtime.call<&plug_runtime::device_info>(plugins_index, &given), "device_info", device);
  DeviceInfo info;
  info.name = given.name == nullptr ? module.name : as_utf8(given.name);
  info.bus_id = as_utf8(given.bus_id);
  info.uuid = hexadecimal(given.uuid);
  info.total_bytes = given.total_bytes;
  info.alignment = std::max<uint64_t>(given.alignment, 1);
  info.map_bytes = given.map_bytes;
  info.flags = given.flags;
  info.processor_count = given.processor_count;
  info.capability_major = given.capability_major;
  info.capability_minor = given.capability_minor;
  info.priority_high = given.priority_high;
  info.priority_low = given.priority_low;
  info.largest_bytes = given.largest_bytes;
  info.cache_bytes = given.cache_bytes;
  info.shared_bytes = given.shared_bytes;
  info.simd_width = given.simd_width;
  info.dlpack_type = given.dlpack_type;
  TORCH_CHECK(given.dtypes != nullptr || given.dtype_count == 0, "Plugin '", module.name, "' names ",
              given.dtype_count, " dtypes of device ", int{device}, " but no list. Set .dtypes.");
  info.dtypes.assign(given.dtypes, given.dtypes + given.dtype_count);
  TORCH_CHECK((info.alignment & (info.alignment - 1)) == 0, "Plugin '", module.name, "' has an alignment of ",
              info.alignment, " for device ", int{device}, ". An alignment is a power of two.");
  return info;
}

// By which of the module's tables the device is called, which may lack what the plugin has.
void choose_runtime(DeviceSlot& slot, uint32_t flags) {
  const Module& module = *slot.module;
  const bool captures = module.table.capture_begin != nullptr && (flags & PLUG_LACKS_CAPTURE) == 0;
  const bool is_emulated = !captures && module.emulated_capture != nullptr;
  slot.runtime.store(is_emulated ? &module.emulating : &module.runtime, std::memory_order_release);
}

constexpr const char* kVisible = "TORCHPLUG_VISIBLE_DEVICES";

std::string which_indices(int32_t count) {
  if (count == 0) return "It has none.";
  return "Set it to a comma-separated list of indices from 0 to " + std::to_string(count - 1) + ".";
}

// "1,0": the plugin's devices 1 and 0, in this order; "": none. Not set: all.
std::vector<int32_t> visible_devices(const Module& module, int32_t count) {
  std::vector<int32_t> visible;
  const char* wish = text_setting(kVisible);
  if (wish == nullptr) {
    for (int32_t i = 0; i < count; ++i) visible.push_back(i);
    return visible;
  }
  std::istringstream items(*wish == '\0' ? std::string() : std::string(wish) + ",");
  for (std::string item; std::getline(items, item, ',');) {
    int32_t index = -1;
    const char* end = item.data() + item.size();
    const auto [parsed, problem] = std::from_chars(item.data(), end, index);
    TORCH_CHECK(problem == std::errc() && parsed == end && index >= 0 && index < count, kVisible, " is '",
                wish, "', but plugin '", module.name, "' has no device '", item, "'. ", which_indices(count));
    TORCH_CHECK(std::find(visible.begin(), visible.end(), index) == visible.end(), kVisible, " is '", wish,
                "', which names device ", index, " twice. Name each device once.");
    visible.push_back(index);
  }
  return visible;
}

Devices find_devices() {
  Devices devices;
  try {
    const Module& module = (*module_loader.load())();
    int32_t count = 0;
    check(module.runtime.call<&plug_runtime::device_count>(&count), "device_count", -1);
    TORCH_CHECK(count >= 0 && count <= std::numeric_limits<DeviceIndex>::max(), "Plugin '", module.name,
                "' reports ", count, " devices. PyTorch supports at most 127.");
    for (int32_t plugins_index : visible_devices(module, count)) {
      DeviceSlot& slot = device_slots[devices.count++];
      slot.plugins_index = plugins_index;
      slot.module = &module;
      choose_runtime(slot, /*flags=*/0);
    }
  } catch (const c10::Error& error) {
    devices.failure = error.what_without_backtrace();
  }
  return devices;
}

Devices& devices() {
  if (Devices* known = known_devices.load(std::memory_order_acquire)) return *known;
  std::lock_guard lock(find_lock);
  if (known_devices == nullptr) {
    known_devices.store(immortal<Devices>(find_devices()), std::memory_order_release);
  }
  return *known_devices;
}

// Only flags are written: the child of a multithreaded process may do little else.
void mark_forked() {
  for (DeviceSlot& slot : devices().slots()) {
    if (slot.life == Life::kOpen || slot.life == Life::kLost) slot.life = Life::kForked;
  }
}

void refuse_forked() {
  TORCH_CHECK(false, "Device '", device_type_name(),
              "' was in use before this process was forked and cannot be used in the child. Start "
              "processes with the 'spawn' method: torch.multiprocessing.set_start_method('spawn').");
}

// Nobody is left to throw it to.
void print_failed_shutdown(const Module& module, plug_status status) {
  const std::string said = take_plugin_error();
  std::fprintf(stderr, "%s: shutdown failed (%s): %s\n", module.name.c_str(), status_name(status).c_str(),
               said.empty() ? "no reason given" : said.c_str());
}

// Runs before the plugin library's own destructors: registered after they were. Nothing is called
// afterwards.
void shut_down() {
  if (is_forked()) return;
  issue_all_deferred_warnings();
  print_recorded_failures();
  std::set<const Module*> modules;
  for (DeviceSlot& slot : devices().slots()) modules.insert(slot.module);
  for (const Module* module : modules) {
    if (!module->runtime.has<&plug_runtime::shutdown>()) continue;
    take_plugin_error();
    const plug_status status = module->runtime.call<&plug_runtime::shutdown>();
    if (status != PLUG_OK) print_failed_shutdown(*module, status);
  }
  for (DeviceSlot& slot : devices().slots()) slot.life = Life::kEnded;
}

}  // namespace

constinit detail::DeviceSlots detail::device_slots{};

bool DeviceInfo::holds(plug_dtype dtype) const {
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

void shut_down_at_exit() { std::atexit(shut_down); }

void set_module_loader(const Module& (*load)()) noexcept {
  std::lock_guard lock(find_lock);
  module_loader = load;
  const Devices* before = known_devices;
  if (before != nullptr && !before->failure.empty()) known_devices = nullptr;
}

bool are_devices_known() noexcept { return known_devices.load(std::memory_order_acquire) != nullptr; }

std::string device_type_name() { return c10::get_privateuse1_backend(); }

const Module& detail::find_module(DeviceIndex device) { return *device_slots[check_device(device)].module; }

const Module* module_for_host() { return device_count() == 0 ? nullptr : &module_of(0); }

DeviceIndex device_count() noexcept {
  return module_loader != nullptr ? static_cast<DeviceIndex>(devices().count) : DeviceIndex{0};
}

size_t check_device(DeviceIndex device) {
  TORCH_CHECK(module_loader != nullptr,
              "There is no device: no plugin has been chosen. Set TORCHPLUG_DEVICE to a "
              "device's name or to the path of a plugin, or call torchplug.load(path).");
  const Devices& found = devices();
  TORCH_CHECK(found.failure.empty(), found.failure);
  const auto count = static_cast<int>(found.count);
  TORCH_CHECK(device >= 0 && device < count, "There is no device ", device_type_name(), ":", int{device},
              ". ",
              count == 0 ? std::string("The plugin found no device.")
                         : "Devices run from 0 to " + std::to_string(count - 1) + ".");
  return static_cast<size_t>(device);
}

const DeviceInfo& device_info(DeviceIndex device) {
  const size_t place = check_device(device);
  std::atomic<const DeviceInfo*>& known = infos[place];
  const DeviceInfo* info = known.load(std::memory_order_acquire);
  if (C10_LIKELY(info != nullptr)) return *info;
  if (is_forked()) refuse_forked();
  DeviceSlot& slot = device_slots[place];
  auto read = std::make_unique<const DeviceInfo>(read_info(*slot.module, device, slot.plugins_index));
  choose_runtime(slot, read->flags);
  slot.lacks.store(read->flags & ~detail::kUnread, std::memory_order_release);
  // Of two threads that read it, one keeps what it read.
  return known.compare_exchange_strong(info, read.get()) ? *read.release() : *info;
}

uint32_t detail::find_lacks(DeviceIndex device) { return device_info(device).flags; }

int32_t plugin_index(DeviceIndex device) {
  if (C10_UNLIKELY(!is_open(device))) check_device(device);
  return unchecked_plugin_index(device);
}

DeviceIndex visible_index(int32_t plugins) noexcept {
  const auto slots = devices().slots();
  const auto same = [plugins](const DeviceSlot& slot) { return slot.plugins_index == plugins; };
  const auto found = std::find_if(slots.begin(), slots.end(), same);
  return static_cast<DeviceIndex>(found == slots.end() ? -1 : found - slots.begin());
}

DeviceIndex current_device() noexcept { return current; }

void set_current_device(DeviceIndex device) {
  check_device(device);
  current = device;
}

DeviceIndex exchange_current_device(DeviceIndex device) {
  const DeviceIndex before = current;
  if (device >= 0 && device != before) set_current_device(device);
  return before;
}

void unchecked_set_current_device(DeviceIndex device) noexcept {
  if (device >= 0) current = device;
}

bool is_forked() noexcept {
  if (!are_devices_known()) return false;
  const auto slots = devices().slots();
  return std::any_of(slots.begin(), slots.end(),
                     [](const DeviceSlot& slot) { return slot.life == Life::kForked; });
}

bool launch_blocking() noexcept {
  static const bool blocking = flag_setting("TORCHPLUG_LAUNCH_BLOCKING");
  return blocking;
}

void detail::open_device(DeviceIndex device) {
  check_device(device);
  if (is_forked()) refuse_forked();
  DeviceSlot& slot = device_slots[static_cast<size_t>(device)];
  TORCH_CHECK(slot.life != Life::kEnded, "Device '", device_type_name(),
              "' cannot be used while the process exits.");
  if (slot.life == Life::kLost) throw_lost(device);
  std::lock_guard lock(open_lock);
  if (slot.life == Life::kOpen) return;
  static const int registered = ::pthread_atfork(nullptr, nullptr, mark_forked);
  TORCH_CHECK(registered == 0, "pthread_atfork failed with ", registered, ".");
  device_info(device);  // what it lacks
  if (plugin_has<&plug_runtime::host_map>(device)) has_gates = true;
  if (plugin_has<&plug_runtime::device_open>(device)) call_plugin<&plug_runtime::device_open>(device);
  slot.life = Life::kOpen;
}

void detail::mark_lost(DeviceIndex device) noexcept {
  std::atomic<Life>& life = device_slots[static_cast<size_t>(device)].life;
  Life before = life.load();
  while ((before == Life::kClosed || before == Life::kOpen) &&
         !life.compare_exchange_weak(before, Life::kLost)) {
  }
}

constinit thread_local const char* CallsFor::called_for = nullptr;

namespace {

// What a plugin that gave no reason is told. What is emulated or done another way never comes here.
const char* why_unsupported(std::string_view function) {
  if (function == "kernel" || function.find("::") != std::string_view::npos)
    return "its kernel does not take such a call";
  bool is_mandatory = false;
  plugin::for_each_member([&]<auto Function>(const char* name, plugin::Group group) {
    if (function == name) is_mandatory = group == plugin::Group::kMandatory;
  });
  return is_mandatory
             ? "it returned PLUG_UNSUPPORTED, and torchplug has no other way to do this; every device "
               "has to"
             : "it returned PLUG_UNSUPPORTED, and torchplug has no other way to do this; a plugin "
               "without the function leaves its member NULL";
}

// "copy for aten::add.Tensor"
std::string call_title(const char* what) {
  const char* operator_name = CallsFor::current();
  if (operator_name == nullptr || std::string_view(what) == operator_name) return what;
  return std::string(what) + " for " + operator_name;
}

}  // namespace

void check(plug_status status, const char* what, DeviceIndex device, uint64_t sequence,
           const char* function) {
  if (C10_LIKELY(status == PLUG_OK)) return;
  const std::string where =
      device < 0 ? device_type_name() : device_type_name() + ":" + std::to_string(int{device});
  std::string said = take_plugin_error_of(sequence);
  if (said.empty())
    said = status == PLUG_UNSUPPORTED ? why_unsupported(function == nullptr ? what : function)
                                      : "no reason given";
  const std::string message =
      where + ": " + call_title(what) + " failed (" + status_name(status) + "): " + said;
  TORCH_CHECK_WITH(OutOfMemoryError, status != PLUG_NO_MEMORY, message);
  if (status == PLUG_LOST && device >= 0) {
    lose_device(device, message);
    throw_lost(device);
  }
  if (status == PLUG_LOST) {
    throw c10::AcceleratorError({__func__, __FILE__, uint32_t(__LINE__)}, status, message);
  }
  TORCH_CHECK(false, message);
}

}  // namespace torchplug::runtime
