#pragma once
// The states that kernels keep from `prepare` to `forget`, as the validate layer sees them: which live, and
// which work was given to streams with each. Any thread may use it.

#include <map>
#include <mutex>
#include <vector>

#include "plugin/layers/validate_order.h"

namespace torchplug::plugin::validation {

class KernelStates {
 public:
  explicit KernelStates(Order& order) : order_(order) {}

  void add(void* state);
  // A call comes with a state that lives, or with none.
  void check_call(const char* kernel, void* state);
  void note_use(void* state, const Order::Place& place);
  // It lives, and no stream executes a call that came with it.
  void check_forget(void* state);

 private:
  struct Life {
    int count = 0;  // a kernel may keep the same thing for several plans
    std::vector<Order::Place> uses;
  };

  Order& order_;
  std::mutex lock_;  // guards
  std::map<void*, Life> states_;
};

}  // namespace torchplug::plugin::validation
