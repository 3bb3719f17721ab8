#pragma once
// The operators that PyTorch's dispatcher is asked for while some work runs on this thread: which, with what,
// and which of them others ask for. One for a piece of work; for one thread.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::torchscript {

struct RecordedCall {
  c10::OperatorHandle op;
  std::vector<c10::IValue> arguments;  // all, as the schema has them
  std::vector<c10::IValue> results;
  std::vector<int32_t> parts;  // the calls that it made itself
};

class Recording {
 public:
  // Runs the work; what it throws goes on.
  explicit Recording(const std::function<void()>& work);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  const RecordedCall& call(int32_t number) const { return calls_[static_cast<size_t>(number)]; }
  // All calls about the first tensor are about the second from now on.
  void replace(const at::Tensor& known, const at::Tensor& other);
  const std::vector<int32_t>& roots() const { return roots_; }  // those that no other call made

 private:
  friend struct Listener;

  std::vector<RecordedCall> calls_;
  std::vector<int32_t> roots_;
  std::vector<int32_t> open_;  // the calls under way, each a part of the one before
};

}  // namespace torchplug::torchscript
