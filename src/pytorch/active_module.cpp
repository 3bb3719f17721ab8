#include "pytorch/active_module.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <mutex>

#include "base/immortal.h"
#include "plugin/layers/serialize.h"
#include "runtime/device.h"

namespace torchplug::pytorch {
namespace {

struct Choice {
  std::string name;
  std::string path;
  void (*prepare)(Module&);
  std::string failure;  // why it could not be loaded; guarded by load_lock
};

std::mutex load_lock;
std::atomic<Choice*> choice{nullptr};
std::atomic<const Module*>& active = detail::loaded_module;

const Module& load(Choice& chosen) {
  Module& module = load_module(chosen.path);
  TORCH_CHECK(module.name == chosen.name, "The plugin at '", chosen.path, "' has the name '", module.name,
              "', but its entry point is named '", chosen.name,
              "'. Give its entry point in the group torchplug.devices the plugin's own name.");
  check_is_device(module);
  chosen.prepare(module);
  return module;
}

}  // namespace

constinit std::atomic<const Module*> detail::loaded_module{nullptr};

void choose_module(const std::string& name, const std::string& path, void (*prepare)(Module&)) {
  {
    std::lock_guard lock(load_lock);
    const Choice* before = choice.load(std::memory_order_acquire);
    if (before != nullptr && before->failure.empty()) {
      if (before->name != name || before->path != path) refuse_second_module(name, path);
      return;
    }
    TORCH_CHECK(before == nullptr || before->name == name, "Device plugin '", name, "' (", path,
                ") cannot be loaded in place of '", before->name, "' (", before->path,
                "), which could not be loaded: PyTorch cannot rename a device. Set TORCHPLUG_DEVICE to '",
                name, "' and start the process again.");
    choice.store(immortal<Choice>(Choice{name, path, prepare, {}}), std::memory_order_release);
  }
  set_module_loader(&active_module);  // waits for whoever loads, who needs the lock
}

void forget_choice() noexcept {
  set_module_loader(nullptr);
  choice.store(nullptr, std::memory_order_release);
}

bool is_module_chosen() noexcept { return choice.load(std::memory_order_acquire) != nullptr; }

bool has_module_failed() noexcept {
  std::lock_guard lock(load_lock);
  const Choice* chosen = choice.load(std::memory_order_acquire);
  return chosen != nullptr && !chosen->failure.empty();
}

bool is_module_loaded() noexcept { return active.load(std::memory_order_acquire) != nullptr; }

const Module& detail::load_chosen_module() {
  Choice* chosen = choice.load(std::memory_order_acquire);
  TORCH_CHECK(chosen != nullptr,
              "No device plugin is loaded. Set TORCHPLUG_DEVICE to a device's name or "
              "to the path of a plugin, or call torchplug.load(path).");
  std::lock_guard lock(load_lock);
  if (const Module* module = active.load(std::memory_order_acquire)) return *module;
  TORCH_CHECK(chosen->failure.empty(), chosen->failure);
  try {
    active.store(&load(*chosen), std::memory_order_release);
  } catch (const c10::Error& error) {
    chosen->failure = error.what_without_backtrace();
    throw;
  } catch (const std::exception& error) {
    chosen->failure = error.what();
    throw;
  }
  return *active;
}

const void* find_extension(const char* name) {
  const Module& module = active_module();
  if (module.extension == nullptr) return nullptr;
  const auto lock = lock_calls(module);
  return module.extension(name);
}

void refuse_second_module(const std::string& name, const std::string& path) {
  const Choice& first = *choice.load(std::memory_order_acquire);
  TORCH_CHECK(false, "Device plugin '", name, "' (", path, ") cannot be used together with '", first.name,
              "' (", first.path, "): a process has one device plugin. Choose it with TORCHPLUG_DEVICE.");
}

}  // namespace torchplug::pytorch
