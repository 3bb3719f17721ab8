#include "profiler/plugin_profiler.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "plugin/layers/serialize.h"

namespace torchplug::profiler {
namespace {

std::mutex users_lock;  // taken after the lock of the plugin's calls, which a launch may hold
std::map<const Module*, int> users;

void check_profiler(plug_status status, const char* what) {
  TORCH_CHECK(status == PLUG_OK, "The profiler of plugin '", device_type_name(), "' failed in ", what, " (",
              status_name(status), "): ", take_plugin_error());
}

// What the plugin calls for each record; no exception may pass through it.
struct RecordReceiver {
  const std::function<void(const plug_record&)>& take;
  std::exception_ptr failure;

  static void call(void* context, const plug_record* given) noexcept {
    auto& receiver = *static_cast<RecordReceiver*>(context);
    plug_record record{};
    std::memcpy(&record, given, std::min<size_t>(given->size, sizeof record));
    try {
      if (receiver.failure == nullptr) receiver.take(record);
    } catch (...) {
      receiver.failure = std::current_exception();
    }
  }
};

}  // namespace

void start_plugin_profiler(DeviceIndex device) {
  const Module& module = module_of(device);
  if (!module.has_profiler()) return;
  const auto calls = lock_calls(module);
  std::lock_guard lock(users_lock);
  if (users[&module] == 0) check_profiler(module.profiler.start(), "start");
  ++users[&module];
}

void stop_plugin_profiler(DeviceIndex device) {
  const Module& module = module_of(device);
  if (!module.has_profiler()) return;
  const auto calls = lock_calls(module);
  std::lock_guard lock(users_lock);
  if (users[&module] == 0) return;
  --users[&module];
  if (users[&module] == 0) check_profiler(module.profiler.stop(), "stop");
}

int64_t read_plugin_clock(DeviceIndex device) {
  int64_t nanoseconds = 0;
  const auto calls = lock_calls(module_of(device));
  check_profiler(module_of(device).profiler.clock(plugin_index(device), &nanoseconds), "clock");
  return nanoseconds;
}

void set_plugin_label(DeviceIndex device, plug_stream stream, uint64_t label) {
  const auto calls = lock_calls(module_of(device));
  check_profiler(module_of(device).profiler.label(plugin_index(device), stream, label), "label");
}

uint64_t drain_plugin_profiler(DeviceIndex device, const std::function<void(const plug_record&)>& take) {
  RecordReceiver receiver{take, nullptr};
  uint64_t lost = 0;
  {
    const auto calls = lock_calls(module_of(device));
    check_profiler(
        module_of(device).profiler.drain(plugin_index(device), &RecordReceiver::call, &receiver, &lost),
        "drain");
  }
  if (receiver.failure != nullptr) std::rethrow_exception(receiver.failure);
  return lost;
}

}  // namespace torchplug::profiler
