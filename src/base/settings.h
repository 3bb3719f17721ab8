#pragma once
// The environment variables that torchplug reads, in one table: the environment is read through it,
// `torchplug doctor` prints it, README is checked against it, and a variable that is in no table is found by
// it. What a plugin is given (plug_host.option) has names of its own: TORCHPLUG_<NAME>_*. Any thread may
// read.

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::base {

enum class SettingKind {
  kFlag,    // 0 or 1
  kChoice,  // one of the words in `values`
  kText,    // whatever its reader understands
};

struct Setting {
  const char* name;
  SettingKind kind;
  const char* values;         // what it may be, with | between
  const char* default_value;  // of a flag or choice: one of the values
  const char* meaning;
  const char* reader;  // the file that reads it
};

inline constexpr Setting kSettings[] = {
    {"TORCHPLUG_DEVICE", SettingKind::kText, "NAME|PATH|none", "automatic",
     "the device: the name of an installed plugin, the path of a plugin, or none", "torchplug/_autoload.py"},
    {"TORCHPLUG_VISIBLE_DEVICES", SettingKind::kText, "1,0", "all",
     "which of the plugin's devices are visible, and in which order", "src/runtime/device.cpp"},
    {"TORCHPLUG_FALLBACK", SettingKind::kChoice, "allow|warn|error", "allow",
     "what to do when an operator has no kernel and runs on the CPU", "src/aten/plan/fallback_policy.cpp"},
    {"TORCHPLUG_LEDGER", SettingKind::kChoice, "0|1|json|coverage|coverage-json", "0",
     "print at the end of the program where its operators ran, or which of them fall back",
     "torchplug/_autoload.py"},
    {"TORCHPLUG_LAUNCH_BLOCKING", SettingKind::kFlag, "0|1", "0",
     "every call waits for its work, so that an error is raised by the call that caused it",
     "src/runtime/device.cpp"},
    {"TORCHPLUG_ALLOC_CONF", SettingKind::kText, "name:value,...", "none", "how device memory is cached",
     "src/memory/allocator_settings.cpp"},
    {"TORCHPLUG_NO_MEMORY_CACHING", SettingKind::kFlag, "0|1", "0",
     "every tensor is allocated and freed by the plugin, without a cache", "src/memory/device_allocator.cpp"},
    {"TORCHPLUG_CACHE_DIR", SettingKind::kText, "PATH", "~/.cache/torchplug",
     "the directory in which engines of compiled graphs are kept", "src/base/settings.cpp"},
    {"TORCHPLUG_LAYERS", SettingKind::kText, "validate,fault,trace", "none",
     "layers around the plugin: validate checks every call, fault injects failures, trace writes every call "
     "down",
     "src/plugin/layers/layers.cpp"},
    {"TORCHPLUG_VALIDATE", SettingKind::kChoice, "error|log|abort", "error",
     "what the layer validate does when a rule is violated", "src/plugin/layers/validate_messages.cpp"},
    {"TORCHPLUG_FAULT", SettingKind::kText, "alloc:3+,...", "none", "which failures the layer fault injects",
     "src/plugin/layers/fault.cpp"},
    {"TORCHPLUG_TRACE", SettingKind::kText, "PATH", "torchplug-PID.trace",
     "the file into which the layer trace writes every call", "src/plugin/layers/trace.cpp"},
    {"TORCHPLUG_LOG", SettingKind::kChoice, "0|1|2|3|4", "2",
     "the lowest level of plugin messages that is printed: debug, info, warning, error; 4: none",
     "src/plugin/host.cpp"},
};

// Throws, in one sentence, for a flag or choice that is none of its values. Whoever loads a plugin calls it
// first; those who read need not throw then.
void check_settings();

namespace detail {

// Does not compile for a name that is not in the table, or of another kind.
consteval size_t find_setting(std::string_view name, SettingKind kind) {
  for (size_t i = 0; i < std::size(kSettings); ++i) {
    if (name == kSettings[i].name && kind == kSettings[i].kind) return i;
  }
  throw "there is no such setting in base/settings.h";
}

}  // namespace detail

template <SettingKind kind>
struct SettingName {
  consteval SettingName(const char* name) : setting(kSettings[detail::find_setting(name, kind)]) {}
  const Setting& setting;
};

bool flag_setting(SettingName<SettingKind::kFlag> name) noexcept;
// One of the values; the default for what check_settings() refuses.
std::string_view choice_setting(SettingName<SettingKind::kChoice> name);
// Null if it is not set.
const char* text_setting(SettingName<SettingKind::kText> name) noexcept;

// Where engines are kept: TORCHPLUG_CACHE_DIR, else `torchplug` in the user's directory for caches.
std::string cache_directory();

// What the user set for a plugin: "acme.cache_size" is TORCHPLUG_ACME_CACHE_SIZE. Null if it is not set.
const char* plugin_setting(std::string_view key);

// The values of a flag or choice, one by one; none for a text.
std::vector<std::string_view> values_of(const Setting& setting);

}  // namespace torchplug::base
