#include "plugin/layers/validate_state.h"

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "base/immortal.h"
#include "plugin/host.h"
#include "plugin/layers/validate_messages.h"

namespace torchplug::plugin::validation {
namespace {

const plug_host* given_host = nullptr;
std::atomic<bool> is_over{false};

struct Devices {
  std::mutex lock;
  int32_t count = -1;
  std::set<int32_t> open;
};

Devices& devices() {
  static auto& instance = *immortal<Devices>();
  return instance;
}

}  // namespace

constinit plug_runtime below{};

void begin_validation(const plug_host& given) {
  prepare_messages(&given);
  given_host = &given;
}

void end_validation() { is_over = true; }

const plug_host& host() { return *given_host; }

Memory& memory() {
  static auto& instance = *immortal<Memory>(below);
  return instance;
}

void check_moment(const char* function) {
  if (is_over) violate(Rule::kAfterShutdown, std::string(function) + " was called after shutdown.");
  if (Order::is_inside_job()) {
    violate(Rule::kCallInHostFunc,
            std::string(function) + " was called from inside a host function, on the stream's own thread.");
  }
}

void check_index(const char* function, int32_t device) {
  std::unique_lock lock(devices().lock);
  if (devices().count < 0) {
    int32_t count = 0;
    devices().count = below.device_count(&count) == PLUG_OK ? count : 0;
  }
  const int32_t count = devices().count;
  lock.unlock();
  if (device < 0 || device >= count) {
    violate(Rule::kDeviceIndex, std::string(function) + " was given device " + std::to_string(device) +
                                    ", but the plugin has " + std::to_string(count) + ".");
  }
}

void check_device(const char* function, int32_t device) {
  check_index(function, device);
  if (below.device_open == nullptr) return;
  std::unique_lock lock(devices().lock);
  const bool is_open = devices().open.contains(device);
  lock.unlock();
  if (!is_open) {
    violate(Rule::kDeviceClosed, std::string(function) + " was given device " + std::to_string(device) +
                                     ", which has not been opened.");
  }
}

void note_open(int32_t device) {
  std::lock_guard lock(devices().lock);
  devices().open.insert(device);
}

plug_status check_status(const char* function, plug_status status, bool is_query) {
  const bool is_known = status == PLUG_OK || status == PLUG_UNSUPPORTED ||
                        (is_query && status == PLUG_NOT_READY) ||
                        (status >= PLUG_INVALID && status <= PLUG_INTERNAL);
  if (!is_known) {
    violate(Rule::kStatusUnknown, std::string(function) + " answered with status " + std::to_string(status) +
                                      ", which it does not have.");
  }
  if (status < PLUG_INVALID) return status;
  std::string said = take_plugin_error();
  if (said.empty()) {
    said = note(Rule::kErrorSilent,
                std::string(function) + " failed (" + status_name(status) + ") and told set_error nothing.");
  }
  host().set_error(&host(), said.c_str());
  return status;
}

}  // namespace torchplug::plugin::validation
