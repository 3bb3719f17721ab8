#include "runtime/failure.h"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "immortal.h"

namespace torchplug {
namespace {

struct Slot {
  std::atomic<bool> pending{false};
  std::mutex failure_lock;
  std::exception_ptr failure;
  bool is_lost = false;
};

Slot& slot(DeviceIndex device) {
  static auto& slots = *immortal<std::array<Slot, std::numeric_limits<DeviceIndex>::max() + 1>>();
  return slots[static_cast<size_t>(device)];
}

void keep(DeviceIndex device, std::exception_ptr failure, bool is_lost) {
  Slot& kept = slot(device);
  std::lock_guard lock(kept.failure_lock);
  if (kept.failure != nullptr && !is_lost) return;
  kept.failure = std::move(failure);
  kept.is_lost = is_lost;
  kept.pending.store(true, std::memory_order_release);
}

void on_report(int32_t plugins_index, plug_stream /*stream*/, uint64_t sequence, plug_status status,
               const char* message) {
  if (!is_module_loaded()) return;
  const DeviceIndex device = visible_index(plugins_index);
  if (device < 0) return;
  const std::string said = message == nullptr ? "the plugin gave no reason" : message;
  const std::string text = active_module().name + ":" + std::to_string(int{device}) + ": operator call " +
                           std::to_string(sequence) + " failed (" + status_name(status) + "): " + said;
  const c10::SourceLocation here{__func__, __FILE__, uint32_t(__LINE__)};
  const bool is_lost = status == PLUG_LOST;
  keep(device,
       is_lost ? std::make_exception_ptr(c10::AcceleratorError(here, status, text))
               : std::make_exception_ptr(c10::Error(here, text)),
       is_lost);
}

}  // namespace

void record_failure(DeviceIndex device, std::exception_ptr failure) {
  keep(device, std::move(failure), /*is_lost=*/false);
}

void throw_recorded_failure(DeviceIndex device) {
  Slot& kept = slot(device);
  if (C10_LIKELY(!kept.pending.load(std::memory_order_acquire))) return;
  std::exception_ptr failure;
  {
    std::lock_guard lock(kept.failure_lock);
    failure = kept.failure;
    if (!kept.is_lost) {
      kept.failure = nullptr;
      kept.pending.store(false, std::memory_order_release);
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

void print_recorded_failures() {
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    try {
      throw_recorded_failure(device);
    } catch (const c10::Error& error) {
      std::fprintf(stderr, "%s:%d: work failed and nobody waited for it: %s\n", active_module().name.c_str(),
                   device, error.what_without_backtrace());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s:%d: work failed and nobody waited for it: %s\n", active_module().name.c_str(),
                   device, error.what());
    }
  }
}

void listen_to_plugin_reports() { set_report_handler(on_report); }

}  // namespace torchplug
