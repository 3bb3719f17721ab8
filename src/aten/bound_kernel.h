#pragma once
// An operator carried out by the plugin's kernel.
// A plan, learnt once per kind of call, says what the outputs look like and what the kernel wants done
// to its inputs first (made contiguous, expanded, converted). A call that needs nothing of the kind
// costs a key, a look-up, the outputs and one C call.

#include <ATen/core/stack.h>

#include <memory>
#include <optional>
#include <vector>

#include "aten/binding.h"
#include "aten/kernel_call.h"
#include "aten/ledger.h"
#include "aten/plan_cache.h"
#include "aten/shape.h"

namespace torchplug {

// How the kernel wants to see one tensor argument.
struct InputPlan {
  bool is_ready = true;  // as it is
  at::ScalarType dtype;
  std::vector<int64_t> sizes;
  std::optional<std::vector<int64_t>> strides;  // nothing: any
};

struct BoundPlan {
  Reason refusal = Reason::kNone;  // not kNone: the kernel cannot take such a call
  bool is_empty = false;           // pointwise on nothing: the kernel has nothing to do
  bool inputs_ready = true;
  std::vector<InputPlan> inputs;  // by tensor argument, in order
  std::vector<OutputShape> outputs;
  // The strides the kernel writes an output with, where not the output's own.
  std::vector<std::optional<std::vector<int64_t>>> kernel_strides;
  // Pointwise on memory laid out in another order of dimensions: how to present it as contiguous.
  std::vector<int64_t> permutation;
};

class BoundKernel {
 public:
  BoundKernel(Binding binding, const Module& module);

  // On success replaces the arguments on the stack by the results and returns kNone. Otherwise leaves
  // the stack alone and says why the call has to go another way.
  Reason run(torch::jit::Stack& stack, const Stream& stream);

 private:
  Reason check_arguments(Arguments arguments) const;
  void write_back(Arguments arguments, Arguments prepared) const;
  bool fits_outputs(Arguments arguments, const BoundPlan& plan) const;
  std::shared_ptr<BoundPlan> make_plan(Arguments arguments, const Stream& stream) const;
  void plan_inputs(Arguments arguments, BoundPlan& plan) const;
  void plan_outputs(BoundPlan& plan) const;
  void plan_permutation(BoundPlan& plan) const;
  bool accepts(uint64_t bit) const { return (binding_.kernel->accepts & bit) != 0; }

  c10::SmallVector<at::Tensor, 4> choose_outputs(Arguments arguments, const BoundPlan& plan,
                                                 const Stream& stream) const;
  at::Tensor choose_output(size_t index, Arguments arguments, const BoundPlan& plan,
                           const Stream& stream) const;
  bool is_argument(const at::Tensor& target, Arguments arguments) const;
  bool can_write_into(const at::Tensor& target, size_t index, Arguments arguments,
                      const BoundPlan& plan) const;
  void finish(torch::jit::Stack& stack, const KernelCall& call, c10::ArrayRef<at::Tensor> outputs,
              const BoundPlan& plan) const;
  at::Tensor finish_tensor(size_t index, Arguments arguments, const at::Tensor& written,
                           const BoundPlan& plan) const;
  c10::IValue finish_number(size_t index, const plug_value& value) const;

  Binding binding_;
  const Module& module_;
  OperatorFacts functional_facts_;
  size_t argument_count_;
  bool is_pointwise_;
  PlanCache<BoundPlan> plans_;
};

}  // namespace torchplug
