#pragma once
// The results of one call of a kernel on CPU tensors, in memory with guard bytes on both sides: what the
// kernel writes outside of a result is found. Belongs to the thread that makes the call.

#include <cstdint>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::plugin::validation {

class GuardedResults {
 public:
  // Results that are arguments, or that the kernel is to shape, stay what they are.
  explicit GuardedResults(const plug_call& call);

  // The call to make.
  const plug_call& call() const { return call_; }
  // After it: what the kernel wrote reaches the caller's results. Says what was written beside one; empty if
  // nothing was.
  std::string settle();

 private:
  struct Guarded {
    uint32_t result;
    char* target;  // of the first byte that the tensor spans
    uint64_t bytes;
    char* begin;  // of the same in room, which has guard bytes around it
    std::vector<char> room;
  };

  void guard(uint32_t result, plug_tensor& tensor);

  const plug_call& given_;
  plug_call call_;
  std::vector<plug_value> values_;
  std::vector<std::vector<plug_tensor>> tensors_;
  std::vector<Guarded> guarded_;
};

}  // namespace torchplug::plugin::validation
