#include "profiler/correlation.h"

#include <atomic>
#include <vector>

namespace torchplug::profiler {
namespace {

std::atomic<uint64_t> profile_number{0};

struct ThreadState {
  uint64_t profile = 0;
  std::vector<uint64_t> operators;
  std::shared_ptr<const Annotation> annotation;
};

ThreadState& thread_state() {
  thread_local ThreadState state;
  const uint64_t profile = profile_number.load(std::memory_order_relaxed);
  if (state.profile != profile) state = {profile, {}, nullptr};
  return state;
}

}  // namespace

void push_operator(uint64_t id) { thread_state().operators.push_back(id); }

// A profile that starts inside an operator sees its end and not its beginning.
void pop_operator() {
  auto& operators = thread_state().operators;
  if (!operators.empty()) operators.pop_back();
}

void push_annotation(uint64_t id) {
  ThreadState& state = thread_state();
  state.annotation = std::make_shared<const Annotation>(Annotation{id, std::move(state.annotation)});
}

void pop_annotation() {
  ThreadState& state = thread_state();
  if (state.annotation != nullptr) state.annotation = std::shared_ptr(state.annotation->outer);
}

Correlation current_correlation() {
  const ThreadState& state = thread_state();
  return {state.operators.empty() ? 0 : state.operators.back(), state.annotation};
}

void forget_correlations() { profile_number.fetch_add(1, std::memory_order_relaxed); }

}  // namespace torchplug::profiler
