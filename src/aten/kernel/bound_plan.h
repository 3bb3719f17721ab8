#pragma once
// What is known of calls of a plugin's kernel that look alike, worked out once: what the outputs look like,
// and what the kernel wants done to its inputs first (made contiguous, expanded, converted).

#include <ATen/core/stack.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "aten/kernel/binding.h"
#include "aten/kernel/kernel_call.h"
#include "aten/plan/ledger.h"
#include "aten/plan/shape.h"

namespace torchplug::aten {

// How the kernel wants to see one tensor argument.
struct InputPlan {
  bool is_ready = true;  // as it is, but for a number on the host that is converted
  at::ScalarType dtype;
  std::vector<int64_t> sizes;
  std::optional<std::vector<int64_t>> strides;  // nothing: any
};

// What is known of all pointwise calls of one kind with operands that look alike: they are direct, and the
// output looks like the operands.
struct BoundKind : AlikeCalls {
  at::ScalarType dtype = at::ScalarType::Undefined;  // of the output
};

struct BoundPlan : AlikeCalls {
  Reason refusal = Reason::kNone;   // not kNone: the kernel cannot take such a call
  std::string why;                  // of a call that `prepare` declined, in the plugin's words
  bool is_empty = false;            // pointwise on nothing: the kernel has nothing to do
  bool is_direct = false;           // all inputs as they are, all outputs new: one C call and no more
  bool is_direct_in_place = false;  // the same, with the first argument for the one output
  bool is_open = false;             // results are for the plugin to shape
  bool inputs_ready = true;
  std::vector<InputPlan> inputs;  // by tensor argument, in order
  // Of all results, in order: of a list one for each tensor, of a number one that is no tensor.
  std::vector<OutputShape> outputs;
  std::vector<size_t> counts;  // by result: how many of the outputs are its; none: one each
  size_t count_of(size_t result) const { return counts.empty() ? 1 : counts[result]; }
  // The strides the kernel writes an output with, where not the output's own.
  std::vector<std::optional<std::vector<int64_t>>> kernel_strides;
  const std::vector<int64_t>& strides_for_kernel(size_t output) const {
    const auto& own = kernel_strides[output];
    return own ? *own : outputs[output].strides;
  }
  // Pointwise on memory laid out in another order of dimensions: how to present it as contiguous.
  std::vector<int64_t> permutation;
};

// Makes the plans of one kernel for one operator. `binding` outlives it.
class BoundPlanner {
 public:
  explicit BoundPlanner(const Binding& binding);

  std::shared_ptr<BoundPlan> make(Arguments arguments, const Stream& stream) const;
  // After `prepare`, which may have shaped results.
  void finish(BoundPlan& plan, const KernelCall& prepared, Arguments arguments, const Stream& stream) const;

  const OperatorFacts& facts() const { return facts_; }
  bool is_pointwise() const { return is_pointwise_; }
  bool accepts(uint64_t bit) const { return (binding_.accepts & bit) != 0; }

 private:
  // Of an operator of the plugin's own: nothing but its shapes is asked.
  void plan_own(Arguments arguments, const Stream& stream, BoundPlan& plan) const;
  bool holds(const Stream& stream, at::ScalarType type) const;
  void refuse(BoundPlan& plan, bool is_input) const;
  void check_inputs(Arguments arguments, const Stream& stream, BoundPlan& plan) const;
  bool is_kept_as_number(const at::Tensor& tensor) const;
  void shape_outputs(Arguments arguments, const Stream& stream, BoundPlan& plan) const;
  std::optional<CallShape> ask_pytorch(Arguments arguments, const Stream& stream, BoundPlan& plan) const;
  const OperatorFacts& facts_of_shape() const;
  void leave_open(BoundPlan& plan) const;
  bool fits_outputs(Arguments arguments, const BoundPlan& plan) const;
  at::ScalarType compute_dtype(Arguments arguments, const BoundPlan& plan) const;
  void plan_outputs(BoundPlan& plan) const;
  void plan_inputs(Arguments arguments, const Stream& stream, BoundPlan& plan) const;
  InputPlan plan_input(const at::Tensor& tensor, at::ScalarType common, const BoundPlan& plan) const;
  void plan_permutation(BoundPlan& plan) const;
  void check_dtypes(const Stream& stream, BoundPlan& plan) const;
  bool can_go_directly(const BoundPlan& plan) const;

  const Binding& binding_;
  OperatorFacts facts_;  // of the operator that the kernel computes
  mutable std::once_flag functional_looked_for_;
  // Of the functional form of an operator that `any` is given with out=, once a shape has been asked for.
  mutable std::optional<OperatorFacts> functional_facts_;
  bool is_pointwise_;
  bool makes_tensors_;          // some result is a tensor that is no argument
  std::vector<bool> promotes_;  // by argument: a number that has a say in the dtype computed in
};

}  // namespace torchplug::aten
