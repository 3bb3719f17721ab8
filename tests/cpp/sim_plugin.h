#pragma once
// The sim plugin as its tests see it: loaded with dlopen, with a host that only keeps what it is
// told. Plugin::shared() serves most tests; a test that needs settings of its own, or ends the
// plugin's life, makes a Plugin, which is a second and independent copy of the library.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "torchplug/plug.h"

namespace sim_test {

inline thread_local std::string last_error;

using Settings = std::map<std::string, std::string>;

struct FakeHost : plug_host {
  Settings settings;

  explicit FakeHost(Settings given) : plug_host{}, settings(std::move(given)) {
    size = sizeof(plug_host);
    abi_minor = PLUG_ABI_MINOR;
    set_error = [](const plug_host*, const char* message) { last_error = message; };
    log = [](const plug_host*, std::int32_t, const char*) {};
    option = [](const plug_host* host, const char* key) -> const char* {
      const auto& settings = static_cast<const FakeHost*>(host)->settings;
      const auto found = settings.find(key);
      return found == settings.end() ? nullptr : found->second.c_str();
    };
  }
};

using EntryPoint = plug_status (*)(const plug_host*, const plug_module**);

// The entry point of a copy of the library that shares nothing with any other.
inline EntryPoint load_copy() {
  std::string path = (std::filesystem::temp_directory_path() / "simXXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) throw std::runtime_error("no temporary file");
  std::filesystem::copy_file(SIM_LIBRARY, path, std::filesystem::copy_options::overwrite_existing);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(path);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<EntryPoint>(dlsym(library, "torchplug_plugin_v0"));
}

class Plugin {
 public:
  explicit Plugin(Settings settings) : host_(std::make_unique<FakeHost>(std::move(settings))) {
    const plug_status status = load_copy()(host_.get(), &module_);
    if (status != PLUG_OK) throw std::runtime_error(last_error);
    host_.release();  // the plugin keeps it to the end of the process
  }

  static constexpr std::int32_t kDevices = 4;
  static constexpr std::uint64_t kMemory = 64 << 20;

  static Plugin& shared() {
    static Plugin& plugin = *[] {
      auto made = std::make_unique<Plugin>(Settings{{"sim.devices", "4"}, {"sim.memory", "64MiB"}});
      for (std::int32_t device = 0; device < kDevices; ++device) {
        if ((*made)->device_open(device) != PLUG_OK) throw std::runtime_error(last_error);
      }
      return made.release();
    }();
    return plugin;
  }

  const plug_module& module() const { return *module_; }
  const plug_runtime* operator->() const { return module_->runtime; }

  // Runs `work` on a stream through host_func.
  void enqueue(std::int32_t device, plug_stream stream, std::function<void()> work) const {
    auto arg = std::make_unique<std::function<void()>>(std::move(work));
    const plug_status status = module_->runtime->host_func(
        device, stream, [](void* arg, plug_status) { (*static_cast<std::function<void()>*>(arg))(); },
        [](void* arg) {
          const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(arg));
        },
        arg.get());
    if (status != PLUG_OK) throw std::runtime_error(last_error);
    arg.release();
  }

  plug_stream stream(std::int32_t device, std::int32_t priority = 0) const {
    plug_stream made = nullptr;
    if (module_->runtime->stream_create(device, priority, &made) != PLUG_OK) {
      throw std::runtime_error(last_error);
    }
    return made;
  }

  plug_event event(std::int32_t device, std::uint32_t flags = 0) const {
    plug_event made = nullptr;
    if (module_->runtime->event_create(device, flags, &made) != PLUG_OK) {
      throw std::runtime_error(last_error);
    }
    return made;
  }

 private:
  std::unique_ptr<FakeHost> host_;
  const plug_module* module_ = nullptr;
};

// Holds a stream until it is opened.
class Gate {
 public:
  Gate(const Plugin& plugin, std::int32_t device, plug_stream stream) {
    plugin.enqueue(device, stream, [state = state_] {
      state->entered.count_down();
      state->opened.wait();
    });
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Returns when the stream's worker stands at the gate.
  void wait_until_entered() const { state_->entered.wait(); }
  void open() {
    if (!std::exchange(open_, true)) state_->opened.count_down();
  }

 private:
  struct State {
    std::latch entered{1};
    std::latch opened{1};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  bool open_ = false;
};

// Device memory with its host view; freed at the end, after a sync.
class Memory {
 public:
  Memory(const Plugin& plugin, std::int32_t device, std::uint64_t bytes) : plugin_(plugin), device_(device) {
    if (plugin_->mem_alloc(device, bytes, &base_) != PLUG_OK) throw std::runtime_error(last_error);
    void* view = nullptr;
    if (plugin_->host_view(device, base_, &view) != PLUG_OK) throw std::runtime_error(last_error);
    view_ = static_cast<unsigned char*>(view);
  }
  ~Memory() {
    plugin_->device_sync(device_);
    plugin_->mem_free(device_, base_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* base() const { return base_; }
  unsigned char* view() const { return view_; }
  plug_mem at(std::uint64_t offset = 0) const { return {base_, offset, device_, 0}; }

 private:
  const Plugin& plugin_;
  const std::int32_t device_;
  void* base_ = nullptr;
  unsigned char* view_ = nullptr;
};

inline plug_mem on_host(const void* base, std::uint32_t flags = 0) {
  return {const_cast<void*>(base), 0, PLUG_HOST, flags};
}

// For what must happen but has no function to wait with: true as soon as it has.
inline bool eventually(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

// Threads of this process whose name begins so; "" for all.
inline int count_threads(const std::string& prefix) {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");  // empty for a thread that has just ended
    std::string name;
    if (std::getline(file, name) && name.starts_with(prefix)) ++count;
  }
  return count;
}

}  // namespace sim_test
