#include "pytorch/activate.h"

#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>

#include "aten/register.h"
#include "aten/tensor/backend_meta.h"
#include "autocast/policy.h"
#include "capture/accelerator_graph.h"
#include "memory/device_allocator.h"
#include "memory/host_allocator.h"
#include "plugin/layers/layers.h"
#include "profiler/activity_profiler.h"
#include "profiler/profiler_stubs.h"
#include "pytorch/active_module.h"
#include "pytorch/guard.h"
#include "pytorch/hooks.h"
#include "runtime/device.h"
#include "runtime/failure.h"
#include "runtime/submit.h"

namespace torchplug::pytorch {
namespace {

std::mutex activation_lock;

// What PyTorch calls the place for a device from outside while nobody has it.
constexpr const char* kNobody = "privateuseone";

// A layer lists what is left at the end: what the core only keeps to use it again is none of it.
void release_caches() {
  if (is_forked()) return;
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    if (is_open(device)) ask_plugin<&plug_runtime::device_sync>(device);
  }
  print_recorded_failures();  // what follows would throw them, to nobody
  try {
    DeviceAllocator::instance().emptyCache();
    host_allocator().empty_cache();
  } catch (const std::exception&) {
    return;  // of a device that is lost, say: what could not be released is listed
  }
}

void register_device(const std::string& name) {
  register_hooks();
  c10::register_privateuse1_backend(name);
  listen_to_plugin_reports();
  c10::SetAllocator(kDeviceType, &DeviceAllocator::instance());
  at::setHostAllocator(kDeviceType, &host_allocator());
  register_guard();
  register_accelerator_graph();
  register_first_operators();
  register_activity_profiler();
  register_profiler_stubs();
  register_backend_notes();
  register_autocast_fallthrough();
}

void register_device_once(const std::string& name) {
  static std::once_flag registered;
  std::call_once(registered, register_device, name);
}

// What only a loaded plugin can tell. What can fail comes before PyTorch is changed, and leaves the module as
// it was.
void prepare(Module& module) {
  const Module given = module;
  try {
    apply_layers(module);
    emulate_capture(module, &observe_replayed);
  } catch (...) {
    module = given;
    throw;
  }
  register_device_once(module.name);
  register_operators(module);
  register_autocast();
  shut_down_at_exit();
  if (!module.layers.empty()) std::atexit(release_caches);
}

// PyTorch finds out too late, when half of the device is registered, and cannot take anything back.
void refuse_taken_name(const std::string& name) {
  for (int i = 0; i < c10::COMPILE_TIME_MAX_DEVICE_TYPES; ++i) {
    const auto type = static_cast<c10::DeviceType>(i);
    TORCH_CHECK(c10::DeviceTypeName(type, /*lower_case=*/true) != name, "A device cannot be called '", name,
                "': PyTorch has a device of that name. Give the plugin another name.");
  }
  const std::string other = c10::get_privateuse1_backend();
  TORCH_CHECK(other == kNobody, "The device '", name, "' cannot be registered: '", other,
              "' has the one place that PyTorch has for a device from outside. Load one of them, not both.");
}

}  // namespace

std::string activate(const std::string& path) {
  std::lock_guard lock(activation_lock);
  const Module& module = load_module(path);
  if (!is_module_chosen()) {
    refuse_taken_name(module.name);
    choose_module(module.name, path, &prepare);
    try {
      active_module();
    } catch (...) {
      forget_choice();
      throw;
    }
  } else if (has_module_failed()) {
    choose_module(module.name, path, &prepare);
  }
  if (&active_module() != &module) refuse_second_module(module.name, module.path);
  return module.name;
}

void activate_later(const std::string& name, const std::string& path) {
  std::lock_guard lock(activation_lock);
  if (!is_module_chosen()) {
    refuse_taken_name(name);
    TORCH_CHECK(std::filesystem::exists(path), "There is no plugin at '", path, "'.");
    register_device_once(name);
  }
  choose_module(name, path, &prepare);
}

}  // namespace torchplug::pytorch
