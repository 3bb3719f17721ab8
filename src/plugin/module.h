#pragma once
// A loaded plugin: its library, opened once and never closed, and its tables, adopted.
// An adopted table is a full-size copy in which everything the plugin did not know is zero, so
// no caller asks for versions. Modules live until the process ends; any thread may read them.

#include <optional>
#include <string>
#include <vector>

#include "plugin/host.h"

namespace torchplug::plugin {

struct Module {
  std::string path;
  std::string name;
  std::string version;
  uint32_t abi_minor = 0;  // of the plug.h it was built against
  uint64_t flags = 0;
  plug_host host{};
  plug_runtime runtime{};
  std::vector<plug_kernel> kernels;
  plug_profiler profiler{};
  bool records_captures = false;  // the capture group of `runtime` is torchplug's own: see plugin/record.h

  bool has_streams() const { return runtime.stream_create != nullptr; }
  bool has_profiler() const { return profiler.start != nullptr; }
};

// Opens the library at `path`, calls its entry point and checks what it gave. The same file, by
// whatever path, is opened once. Throws c10::Error with one sentence that says what is wrong.
Module& load_module(const std::string& path);

// One thing a plugin may give or leave out, by plug.h's name for it: a group, or a function that stands
// alone.
struct Capability {
  const char* name;
  bool present;
};
std::vector<Capability> optional_capabilities(const plug_runtime& runtime);

// The parts of load_module that need no library; tests use them on tables of their own.
plug_runtime adopt_runtime(const plug_runtime& table, const std::string& name);
std::vector<plug_kernel> adopt_kernels(const plug_kernels& table, const std::string& name);
plug_profiler adopt_profiler(const plug_profiler& table, const std::string& name);

}  // namespace torchplug::plugin
