#include "plugin/layers/validate_kernel_states.h"

#include <string>
#include <utility>

#include "plugin/layers/validate_messages.h"

namespace torchplug::plugin::validation {

void KernelStates::add(void* state) {
  const std::lock_guard lock(lock_);
  ++states_[state].count;
}

void KernelStates::check_call(const char* kernel, void* state) {
  if (state == nullptr) return;
  {
    const std::lock_guard lock(lock_);
    if (states_.contains(state)) return;
  }
  violate(
      Rule::kKernelState,
      std::string(kernel) + " was called with a state that its prepare did not keep, or that was forgotten.");
}

// The latest of each stream stands for those before it.
void KernelStates::note_use(void* state, const Order::Place& place) {
  if (state == nullptr || order_.is_capturing()) return;
  const std::lock_guard lock(lock_);
  const auto found = states_.find(state);
  if (found == states_.end()) return;
  for (Order::Place& use : found->second.uses) {
    if (use.stream == place.stream) {
      use = place;
      return;
    }
  }
  found->second.uses.push_back(place);
}

void KernelStates::check_forget(void* state) {
  std::vector<Order::Place> uses;
  bool lives = false;
  {
    const std::lock_guard lock(lock_);
    const auto found = states_.find(state);
    lives = found != states_.end();
    if (lives && --found->second.count == 0) {
      uses = std::move(found->second.uses);
      states_.erase(found);
    }
  }
  if (!lives) violate(Rule::kKernelState, "forget was called for a state that no prepare kept, or twice.");
  for (const Order::Place& use : uses) {
    if (order_.has_passed(use)) continue;
    violate(Rule::kKernelState, "forget was called for a state that a stream still executes a call with.");
  }
}

}  // namespace torchplug::plugin::validation
