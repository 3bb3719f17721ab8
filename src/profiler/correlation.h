#pragma once
// Which operator, and within which of the user's ranges, the calling thread is in, by PyTorch's numbers for
// them. PyTorch's profiler pushes and pops; each thread has its own. What a thread holds from before
// the latest forget_correlations() counts for nothing.

#include <cstdint>
#include <memory>

#include "base/namespaces.h"

namespace torchplug::profiler {

// A range of the user's (record_function), and those around it.
struct Annotation {
  uint64_t id;
  std::shared_ptr<const Annotation> outer;
};

void push_operator(uint64_t id);
void pop_operator();
void push_annotation(uint64_t id);
void pop_annotation();

struct Correlation {
  uint64_t operator_id = 0;  // 0: in none
  std::shared_ptr<const Annotation> annotation;
};
Correlation current_correlation();

void forget_correlations();

}  // namespace torchplug::profiler
