#include "profiler/plugin_profiler.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "plugin/layers/serialize.h"

namespace torchplug::profiler {
namespace {

std::mutex users_lock;  // taken after the lock of the plugin's calls, which a launch may hold
int users = 0;

const plug_profiler& table() { return active_module().profiler; }

void check_profiler(plug_status status, const char* what) {
  TORCH_CHECK(status == PLUG_OK, "The profiler of plugin '", active_module().name, "' failed in ", what, " (",
              status_name(status), "): ", take_plugin_error());
}

// What the plugin calls for each record; no exception may pass through it.
struct Taker {
  const std::function<void(const plug_record&)>& take;
  std::exception_ptr failure;

  static void call(void* context, const plug_record* given) noexcept {
    auto& taker = *static_cast<Taker*>(context);
    plug_record record{};
    std::memcpy(&record, given, std::min<size_t>(given->size, sizeof record));
    try {
      if (taker.failure == nullptr) taker.take(record);
    } catch (...) {
      taker.failure = std::current_exception();
    }
  }
};

}  // namespace

void start_plugin_profiler() {
  if (!active_module().has_profiler()) return;
  const auto calls = lock_calls(active_module());
  std::lock_guard lock(users_lock);
  if (users == 0) check_profiler(table().start(), "start");
  ++users;
}

void stop_plugin_profiler() {
  if (!active_module().has_profiler()) return;
  const auto calls = lock_calls(active_module());
  std::lock_guard lock(users_lock);
  if (users == 0) return;
  --users;
  if (users == 0) check_profiler(table().stop(), "stop");
}

int64_t read_plugin_clock(DeviceIndex device) {
  int64_t nanoseconds = 0;
  const auto calls = lock_calls(active_module());
  check_profiler(table().clock(plugin_index(device), &nanoseconds), "clock");
  return nanoseconds;
}

void set_plugin_label(DeviceIndex device, plug_stream stream, uint64_t label) {
  const auto calls = lock_calls(active_module());
  check_profiler(table().label(plugin_index(device), stream, label), "label");
}

uint64_t drain_plugin_profiler(DeviceIndex device, const std::function<void(const plug_record&)>& take) {
  Taker taker{take, nullptr};
  uint64_t lost = 0;
  {
    const auto calls = lock_calls(active_module());
    check_profiler(table().drain(plugin_index(device), &Taker::call, &taker, &lost), "drain");
  }
  if (taker.failure != nullptr) std::rethrow_exception(taker.failure);
  return lost;
}

}  // namespace torchplug::profiler
