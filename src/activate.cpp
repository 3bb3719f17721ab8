#include "activate.h"

#include <c10/core/DeviceType.h>

#include <mutex>

#include "aten/register.h"
#include "plugin/record.h"
#include "plugin/serialize.h"
#include "runtime/accelerator_graph.h"
#include "runtime/active_module.h"
#include "runtime/device.h"
#include "runtime/device_allocator.h"
#include "runtime/failure.h"
#include "runtime/guard.h"
#include "runtime/hooks.h"
#include "runtime/host_allocator.h"

namespace torchplug {
namespace {

std::mutex activation_lock;

// What only a loaded plugin can tell.
void prepare(Module& module) {
  if ((module.flags & PLUG_SERIALIZE) != 0) serialize(module);
  record_captures(module);  // outside of the lock that serialize takes
  register_operators(module);
  shut_down_at_exit();
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

}  // namespace torchplug
