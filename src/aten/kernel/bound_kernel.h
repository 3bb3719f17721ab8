#pragma once
// An operator carried out by the plugin's kernel.
// A plan, learnt once per kind of call, says what the outputs look like and what the kernel wants done
// to its inputs first (made contiguous, expanded, converted). A call that needs nothing of the kind
// costs a key, a look-up, the outputs and one C call.

#include <ATen/core/stack.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aten/kernel/binding.h"
#include "aten/kernel/kernel_arguments.h"
#include "aten/kernel/kernel_call.h"
#include "aten/plan/call_kind.h"
#include "aten/plan/ledger.h"
#include "aten/plan/plan_cache.h"
#include "aten/plan/shape.h"

namespace torchplug::aten {

// How the kernel wants to see one tensor argument.
struct InputPlan {
  bool is_ready = true;  // as it is
  at::ScalarType dtype;
  std::vector<int64_t> sizes;
  std::optional<std::vector<int64_t>> strides;  // nothing: any
};

// Whether the kernel has answered PLUG_UNSUPPORTED to such a call: a capture that it could only decline at
// the replay does not ask it again.
using Declined = std::atomic<bool>;

// What is known of all pointwise calls of one kind with operands that look alike: they are direct, and the
// output looks like the operands.
struct BoundKind {
  at::ScalarType dtype;  // of the output
  mutable Declined was_declined{false};
};

struct BoundPlan {
  Reason refusal = Reason::kNone;  // not kNone: the kernel cannot take such a call
  bool is_empty = false;           // pointwise on nothing: the kernel has nothing to do
  bool is_direct = false;          // all inputs as they are, all outputs new: one C call and no more
  mutable Declined was_declined{false};
  bool inputs_ready = true;
  std::vector<InputPlan> inputs;  // by tensor argument, in order
  std::vector<OutputShape> outputs;
  // The strides the kernel writes an output with, where not the output's own.
  std::vector<std::optional<std::vector<int64_t>>> kernel_strides;
  const std::vector<int64_t>& strides_for_kernel(size_t output) const {
    const auto& own = kernel_strides[output];
    return own ? *own : outputs[output].strides;
  }
  // Pointwise on memory laid out in another order of dimensions: how to present it as contiguous.
  std::vector<int64_t> permutation;
};

class BoundKernel {
 public:
  BoundKernel(Binding binding, const Module& module);

  // On success replaces the arguments on the stack by the results and returns kNone. Otherwise leaves
  // the stack alone and says why the call has to go another way. `known`: the call's plan of a caller who has
  // looked for it.
  Reason run(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream,
             const BoundPlan* known = nullptr);

  // For a caller that has the arguments unboxed. Whether the kernel's arguments are the operator's, in order
  // and only read, and it gives one tensor: otherwise they have to be boxed.
  bool takes_all() const { return takes_all_; }
  // The plan of such a call, if there is one already; the calling thread's until it calls an operator.
  const BoundPlan* peek(const PlanKey& key) const { return plans_.peek(key); }
  // What is known of the call's kind, if anything is: given operands that all look alike, it needs no plan.
  const BoundKind* peek_kind(const PlanKey& kind) const { return kinds_.peek(kind); }
  // After a call without a plan.
  void note_unplanned(const PlanKey& key, const at::Tensor& output);
  // Carries out a direct call, whose outputs are there. kDeclined, or kNone.
  Reason run_direct(std::span<const plug_value> arguments, std::span<plug_value> results, Declined& declined,
                    const Stream& stream, const at::Generator& generator = {}) const;

 private:
  Reason check_arguments(Arguments arguments) const;
  Reason run_direct_boxed(torch::jit::Stack& stack, const BoundPlan& plan, const Stream& stream) const;
  Reason run_kernel(KernelCall& call, std::span<const plug_value> arguments, Declined& declined,
                    const Stream& stream) const;
  Reason run_prepared(torch::jit::Stack& stack, const BoundPlan& plan, const Stream& stream) const;
  void write_back(Arguments arguments, Arguments prepared) const;
  // The argument that a result is, of an operator of the plugin's own; null: none.
  const c10::IValue* returned_argument(size_t result, Arguments arguments) const;
  bool fits_outputs(Arguments arguments, const BoundPlan& plan) const;
  bool can_go_directly(const BoundPlan& plan) const;
  std::shared_ptr<BoundPlan> make_plan(Arguments arguments, const Stream& stream) const;
  void learn_kind(Arguments arguments, const BoundPlan& plan);
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
  void finish(torch::jit::Stack& stack, const KernelCall& call, std::span<const plug_value> values,
              c10::ArrayRef<at::Tensor> outputs, const BoundPlan& plan) const;
  at::Tensor finish_tensor(size_t index, Arguments arguments, const at::Tensor& written,
                           const BoundPlan& plan) const;
  c10::IValue finish_number(size_t index, const plug_value& value) const;

  Binding binding_;
  const Module& module_;
  std::string name_;  // of the operator as it is called
  OperatorFacts functional_facts_;
  size_t argument_count_;
  bool is_pointwise_;
  bool checks_arguments_;  // some have to have, or not to have, a certain value
  bool takes_all_;         // the kernel's arguments are the operator's, in order, and only read
  bool needs_room_;        // more tensors than KernelArguments has room for in place
  PlanCache<BoundPlan> plans_;
  PlanCache<BoundKind> kinds_;
  UnplannedCalls unplanned_;
};

}  // namespace torchplug::aten
