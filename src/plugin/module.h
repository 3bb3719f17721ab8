#pragma once
// A loaded plugin: its library, opened once and never closed, and its tables, adopted.
// An adopted table is a full-size copy in which everything the plugin did not know is zero, so
// no caller asks for versions. Modules live until the process ends; any thread may read them.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plugin/compiler_calls.h"
#include "plugin/host.h"
#include "plugin/runtime.h"

namespace torchplug::plugin {

class EmulatedCapture;
class FaultLayer;

// A plug_autocast, adopted.
struct Autocast {
  plug_dtype dtype = 0;
  std::vector<plug_dtype> dtypes;  // none: what the device holds
  std::vector<plug_autocast_rule> rules;
};

struct Module {
  std::string path;
  std::string name;
  std::string version;
  uint32_t abi_minor = 0;  // of the plug.h it was built against
  uint64_t flags = 0;
  plug_host host{};
  bool has_runtime = false;  // or it is no device, and has operators of its own alone
  plug_runtime table{};      // the plugin's own functions
  Runtime runtime;           // the same, with the layers around them: what is called
  Runtime emulating;  // the same, with torchplug's own capture around those: for devices that have none
  std::vector<plug_kernel> kernels;
  std::optional<plug_kernel> any;  // for every operator that none of the list has taken
  std::optional<plug_compiler> compiler;
  plug_profiler profiler{};
  std::optional<Autocast> autocast;  // nothing: PyTorch's rules
  const void* (*extension)(const char* name) = nullptr;

  // What has been put around it; null: nothing.
  bool is_layered = false;
  // Each puts itself around the kernel of one more engine, and gives what has to live as long as that.
  std::vector<std::function<std::shared_ptr<void>(plug_kernel&, const EngineKernel&)>> engine_layers;
  std::vector<std::string> layers;  // by name, the outermost first: plugin/layers/layers.h
  std::recursive_mutex* calls_lock = nullptr;
  FaultLayer* faults = nullptr;
  EmulatedCapture* emulated_capture = nullptr;
  CompilerCalls compiler_calls;  // the functions of `compiler`, with the layers around them: what is called

  // Whether something of it may ask for random numbers.
  bool may_draw() const { return !kernels.empty() || any || compiler; }
  bool has_streams() const { return runtime.has<&plug_runtime::stream_create>(); }
  bool has_profiler() const { return profiler.start != nullptr; }
};

// Throws a sentence that says how to load it, unless it is a device.
void check_is_device(const Module& module);

// Opens the library at `path`, calls its entry point and checks what it gave. The same file, by
// whatever path, is opened once. Throws c10::Error with one sentence that says what is wrong.
Module& load_module(const std::string& path);

// One thing a plugin may give or leave out, by plug.h's name for it: a group, or a function that stands
// alone.
struct Capability {
  const char* name;
  bool present;
};
std::vector<Capability> optional_capabilities(const plug_runtime& table);

// The parts of load_module that need no library; tests use them on tables of their own.
plug_runtime adopt_runtime(const plug_runtime& table, const std::string& name);
std::vector<plug_kernel> adopt_kernels(const plug_kernels& table, const std::string& name);
std::optional<plug_kernel> adopt_any(const plug_kernels& table, const std::string& name);
Autocast adopt_autocast(const plug_autocast& table, const std::string& name);
plug_compiler adopt_compiler(const plug_compiler& table, const std::string& name);
plug_profiler adopt_profiler(const plug_profiler& table, const std::string& name);

}  // namespace torchplug::plugin
