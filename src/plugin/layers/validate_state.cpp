#include "plugin/layers/validate_state.h"

#include <string>

#include "plugin/host.h"
#include "plugin/layers/validate_messages.h"

namespace torchplug::plugin::validation {

void State::check_moment(const char* function) const {
  if (is_over_) violate(Rule::kAfterShutdown, std::string(function) + " was called after shutdown.");
  if (Order::is_inside_job()) {
    violate(Rule::kCallInHostFunc,
            std::string(function) + " was called from inside a host function, on the stream's own thread.");
  }
}

void State::check_index(const char* function, int32_t device) {
  std::unique_lock lock(devices_lock_);
  if (device_count_ < 0) {
    int32_t count = 0;
    device_count_ = below.call<&plug_runtime::device_count>(&count) == PLUG_OK ? count : 0;
  }
  const int32_t count = device_count_;
  lock.unlock();
  if (device < 0 || device >= count) {
    violate(Rule::kDeviceIndex, std::string(function) + " was given device " + std::to_string(device) +
                                    ", but the plugin has " + std::to_string(count) + ".");
  }
}

void State::check_device(const char* function, int32_t device) {
  check_index(function, device);
  if (!below.has<&plug_runtime::device_open>()) return;
  std::unique_lock lock(devices_lock_);
  const bool is_open = open_.contains(device);
  lock.unlock();
  if (!is_open) {
    violate(Rule::kDeviceClosed, std::string(function) + " was given device " + std::to_string(device) +
                                     ", which has not been opened.");
  }
}

void State::note_open(int32_t device) {
  std::lock_guard lock(devices_lock_);
  open_.insert(device);
}

plug_status State::check_status(const char* function, plug_status status, bool is_query) const {
  const bool is_known = status == PLUG_OK || status == PLUG_UNSUPPORTED ||
                        (is_query && status == PLUG_NOT_READY) ||
                        (status >= PLUG_INVALID && status <= PLUG_INTERNAL);
  if (!is_known) {
    violate(Rule::kStatusUnknown, std::string(function) + " returned status " + std::to_string(status) +
                                      ", which it may not return.");
  }
  if (status < PLUG_INVALID) return status;
  std::string said = take_plugin_error();
  if (said.empty()) {
    said = note(Rule::kErrorSilent,
                std::string(function) + " failed (" + status_name(status) + ") without calling set_error.");
  }
  host.set_error(&host, said.c_str());
  return status;
}

}  // namespace torchplug::plugin::validation
