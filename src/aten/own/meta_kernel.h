#pragma once
// What tracers call for an operator of a plugin's own, in place of its kernel: tensors that look like its
// results and have no contents. Sizes may be symbols.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/stack.h>

#include "aten/own/own_operator.h"

namespace torchplug::aten {

class MetaKernel final : public c10::OperatorKernel {
 public:
  explicit MetaKernel(const OwnOperator& own) : own_(own) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  const OwnOperator& own_;
};

}  // namespace torchplug::aten
