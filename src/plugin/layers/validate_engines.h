#pragma once
// The engines of a plugin's compiler as the validate layer sees them: which live, and which runs were given
// to streams. What is asked of the compiler's functions is here too. Any thread may use it.

#include <map>
#include <mutex>
#include <vector>

#include "plugin/compiler_calls.h"
#include "plugin/layers/validate_order.h"

namespace torchplug::plugin::validation {

class State;

class Engines {
 public:
  explicit Engines(Order& order) : order_(order) {}

  // One that `function` has given.
  void add(const char* function, int32_t device, plug_engine engine);
  // It lives, on that device.
  void check_live(const char* function, int32_t device, plug_engine engine);
  void note_use(plug_engine engine, const Order::Place& place);
  // It lives, and no stream executes a run of it.
  void check_destroy(int32_t device, plug_engine engine);
  size_t count();

 private:
  struct Life {
    int32_t device = 0;
    std::vector<Order::Place> uses;  // the latest of each stream
  };

  Order& order_;
  std::mutex lock_;  // guards
  std::map<plug_engine, Life> engines_;
};

// Asks compile, having checked the wish and what it says of its progress; then checks the answer.
plug_status check_compile(State& state, const decltype(CompilerCalls::compile)& below,
                          const plug_compile* wish, plug_engine* engine);
plug_status check_load(State& state, const decltype(CompilerCalls::engine_load)& below, int32_t device,
                       const void* data, uint64_t bytes, plug_engine* engine);

}  // namespace torchplug::plugin::validation
