#pragma once
// The gradients of an operator of a plugin's own: what its text says, or, where it has none, an error in
// backward that says what to do. Without a text it gives way to any formula that is registered for the
// operator.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/stack.h>

#include "aten/own/own_operator.h"

namespace torchplug::aten {

class AutogradKernel final : public c10::OperatorKernel {
 public:
  explicit AutogradKernel(const OwnOperator& own) : own_(own) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  bool is_gradient_needed(Arguments arguments) const;
  void run_recorded(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                    torch::jit::Stack& stack) const;

  const OwnOperator& own_;
};

// Counts that an operator has written its arguments, for what has been saved of them.
class VersionKernel final : public c10::OperatorKernel {
 public:
  explicit VersionKernel(const OwnOperator& own) : own_(own) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  const OwnOperator& own_;
};

}  // namespace torchplug::aten
