#pragma once
// A plugin's table under the validate layer, and what the tests of it ask.

#include <cstdlib>
#include <functional>
#include <latch>
#include <string>

#include "plugin/layers/validate.h"
#include "plugin/layers/validate_messages.h"
#include "sim_device.h"

namespace torchplug::tests {

using Body = std::function<void(const plug_runtime&)>;

// A plugin's table under the layer, with its devices open, in a process of its own.
inline void validated(const std::string& path, const Body& body, const char* mode = "error") {
  alone([&] {
    ::setenv("TORCHPLUG_VALIDATE", mode, 1);
    ::setenv("TORCHPLUG_SIM_DEVICES", "2", 1);
    ::setenv("TORCHPLUG_LOG", "4", 1);
    Module& module = load_module(path);
    insert_validate(module);
    const plug_runtime& runtime = table_of(module);
    if (runtime.device_open != nullptr) {
      ASSERT_EQ(runtime.device_open(0), PLUG_OK);
      ASSERT_EQ(runtime.device_open(1), PLUG_OK);
    }
    body(runtime);
  });
}

// Of a plugin with one device.
inline void validated_one(const std::string& path, const Body& body) {
  alone([&] {
    ::setenv("TORCHPLUG_VALIDATE", "error", 1);
    ::setenv("TORCHPLUG_LOG", "4", 1);
    Module& module = load_module(path);
    insert_validate(module);
    body(table_of(module));
  });
}

inline void on_validated_sim(const Body& body) { validated(SIM_LIBRARY, body); }

// The call was refused for this reason.
inline void expect_refused(plug_status status, const std::string& id) {
  EXPECT_EQ(status, PLUG_INVALID);
  const std::string said = take_plugin_error();
  EXPECT_TRUE(said.starts_with("VALIDATE-" + id + ": ")) << said;
  expect_one_sentence(said);
}

inline uint64_t found(const std::string& id) {
  for (const ValidationMessage& message : validation_messages()) {
    if (message.id == "VALIDATE-" + id) return message.count;
  }
  return 0;
}

inline void* allocate(const plug_runtime& runtime, uint64_t bytes) {
  void* base = nullptr;
  EXPECT_EQ(runtime.mem_alloc(0, bytes, &base), PLUG_OK) << take_plugin_error();
  return base;
}

inline plug_status fill(const plug_runtime& runtime, const plug_mem& mem, uint64_t bytes,
                        plug_stream stream = nullptr) {
  return runtime.mem_fill(0, stream, &mem, 1, bytes);
}

// Holds a stream until it is opened.
class Held {
 public:
  Held(const plug_runtime& runtime, plug_stream stream) {
    const auto wait = [](void* latch, plug_status) { static_cast<std::latch*>(latch)->wait(); };
    EXPECT_EQ(runtime.host_func(0, stream, wait, [](void*) {}, &opened_), PLUG_OK);
  }
  void open() { opened_.count_down(); }

 private:
  std::latch opened_{1};
};

}  // namespace torchplug::tests
