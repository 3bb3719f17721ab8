#pragma once
// What PyTorch's dispatcher calls for an operator of a plugin's own on CPU tensors: the plugin's kernel, with
// call->device PLUG_HOST. What its results look like, and which arguments have to be copied before the kernel
// can read them, is found out once per kind of call.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/stack.h>

#include <memory>
#include <vector>

#include "aten/kernel/kernel_arguments.h"
#include "aten/kernel/kernel_state.h"
#include "aten/own/host_call.h"
#include "aten/own/own_operator.h"
#include "aten/plan/plan_cache.h"

namespace torchplug::aten {

class CpuKernel final : public c10::OperatorKernel {
 public:
  explicit CpuKernel(const OwnOperator& own);
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    (void)handle, (void)keys;
    run(*stack);
  }

 private:
  struct Plan {
    bool inputs_ready = true;
    bool is_direct = false;  // all inputs as they are, all results single new tensors: one C call and no more
    std::vector<bool> is_ready;  // by tensor, in order: the kernel takes it as it is
    std::vector<std::optional<ShapedResult<int64_t>>> outputs;
    std::unique_ptr<const KernelState> state;
  };

  struct Results;

  void run(torch::jit::Stack& stack);
  void run_direct(torch::jit::Stack& stack, const Plan& plan) const;
  void run_prepared(torch::jit::Stack& stack, const Plan& plan, Plan* made) const;
  void add_arguments(Arguments arguments, KernelArguments& given) const;
  std::shared_ptr<Plan> make_plan(Arguments arguments) const;
  bool takes(const at::Tensor& tensor) const;
  at::Tensor prepare(const at::Tensor& tensor, bool is_ready) const;
  std::vector<c10::IValue> prepare_all(Arguments arguments, const Plan& plan) const;
  void write_back(Arguments arguments, Arguments prepared) const;
  Results make_results(Arguments prepared, const Plan& plan) const;
  void learn_shapes(const HostCall& call, Plan& plan) const;
  c10::IValue finish(size_t index, Arguments arguments, const Plan& plan, const HostCall& call,
                     const Results& results) const;

  const OwnOperator& own_;
  size_t argument_count_;
  Numbers numbers_;
  std::vector<bool> is_number_;
  std::vector<c10::TypeKind> types_;
  PlanCache<Plan> plans_;
};

// For an operator whose kernel takes tensors of its own device only.
class DeviceOnlyKernel final : public c10::OperatorKernel {
 public:
  explicit DeviceOnlyKernel(const OwnOperator& own) : own_(own) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  const OwnOperator& own_;
};

}  // namespace torchplug::aten
