#include "pytorch/activate.h"

#include <c10/core/DeviceType.h>

#include <cstdlib>
#include <exception>
#include <mutex>

#include "aten/register.h"
#include "aten/tensor/backend_meta.h"
#include "autocast/policy.h"
#include "capture/accelerator_graph.h"
#include "memory/device_allocator.h"
#include "memory/host_allocator.h"
#include "plugin/layers/emulated_capture.h"
#include "plugin/layers/layers.h"
#include "profiler/activity_profiler.h"
#include "profiler/profiler_stubs.h"
#include "pytorch/guard.h"
#include "pytorch/hooks.h"
#include "runtime/active_module.h"
#include "runtime/device.h"
#include "runtime/failure.h"

namespace torchplug::pytorch {
namespace {

std::mutex activation_lock;

// A layer lists what is left at the end: what the core only keeps to use it again is none of it.
void release_caches() {
  if (is_forked()) return;
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    if (is_open(device)) runtime_table().device_sync(plugin_index(device));
  }
  print_recorded_failures();  // what follows would throw them, to nobody
  try {
    DeviceAllocator::instance().emptyCache();
    host_allocator().empty_cache();
  } catch (const std::exception&) {
    return;  // of a device that is lost, say: what could not be given back is listed
  }
}

// What only a loaded plugin can tell.
void prepare(Module& module) {
  apply_layers(module);
  record_captures(module);  // outside of the layers, which see what a replay does
  register_operators(module);
  shut_down_at_exit();
  if (!active_layers().empty()) std::atexit(release_caches);
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
  register_autocast();
}

}  // namespace

std::string activate(const std::string& path) {
  std::lock_guard lock(activation_lock);
  const Module& module = load_module(path);
  if (!is_module_chosen()) {
    register_device(module.name);
    choose_module(module.name, path, &prepare);
  }
  if (&active_module() != &module) refuse_second_module(module.name, module.path);
  return module.name;
}

void activate_later(const std::string& name, const std::string& path) {
  std::lock_guard lock(activation_lock);
  if (!is_module_chosen()) register_device(name);
  choose_module(name, path, &prepare);
}

}  // namespace torchplug::pytorch
