#pragma once
// The one device plugin of this process: chosen once, loaded at the first use of the device.
// Any thread may ask for it. Of a plugin that cannot be loaded every use says why, until one of the same name
// is chosen in its place.

#include <c10/macros/Macros.h>

#include <atomic>
#include <string>

#include "plugin/module.h"

namespace torchplug::pytorch {

// Names the device and the plugin behind it. `prepare` is called once, when the plugin has been loaded.
// Throws, naming both, if another plugin was chosen before, unless that has the same name and could not be
// loaded.
void choose_module(const std::string& name, const std::string& path, void (*prepare)(Module&));
// Takes the choice back, for a plugin that could not be loaded before anything was made of it.
void forget_choice() noexcept;
bool is_module_chosen() noexcept;
bool is_module_loaded() noexcept;
// Whether the chosen one could not be loaded.
bool has_module_failed() noexcept;

// Loads the plugin if this is the first use.
inline const Module& active_module();

// A table of the plugin's for an interface that is not in plug.h, by name; null if it has none.
const void* find_extension(const char* name);

// Throws what is said to whoever asks for a second device plugin.
[[noreturn]] void refuse_second_module(const std::string& name, const std::string& path);

namespace detail {
extern std::atomic<const Module*> loaded_module;
const Module& load_chosen_module();
}  // namespace detail

const Module& active_module() {
  const Module* module = detail::loaded_module.load(std::memory_order_acquire);
  return C10_LIKELY(module != nullptr) ? *module : detail::load_chosen_module();
}

}  // namespace torchplug::pytorch
