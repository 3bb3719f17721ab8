#include "activate.h"

#include <c10/core/DeviceType.h>

#include <mutex>

#include "aten/register.h"
#include "plugin/serialize.h"
#include "runtime/device.h"
#include "runtime/device_allocator.h"
#include "runtime/failure.h"
#include "runtime/guard.h"
#include "runtime/hooks.h"
#include "runtime/host_allocator.h"

namespace torchplug {

std::string activate(const std::string& path) {
  static std::mutex activation_lock;
  std::lock_guard lock(activation_lock);
  Module& module = load_module(path);
  static bool is_registered = false;
  set_active_module(module);
  if (is_registered) return module.name;
  if ((module.flags & PLUG_SERIALIZE) != 0) serialize(module);
  listen_to_plugin_reports();
  register_hooks();
  c10::register_privateuse1_backend(module.name);
  c10::SetAllocator(kDeviceType, &DeviceAllocator::instance());
  at::setHostAllocator(kDeviceType, &host_allocator());
  register_guard();
  register_operators(module);
  is_registered = true;
  return module.name;
}

}  // namespace torchplug
