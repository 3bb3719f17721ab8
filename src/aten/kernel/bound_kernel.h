#pragma once
// An operator carried out by the plugin's kernel for it, or by the one for any.
// A plan (bound_plan.h), learnt once per kind of call, says what the outputs look like and what the kernel
// wants done to its inputs first. A call that needs nothing of the kind costs a key, a look-up, the outputs
// and one C call.
//
// A kernel with `prepare` is asked once for each plan, by the thread that makes it, under no lock but
// PLUG_SERIALIZE's. Two threads may make the same plan at once: both ask, the plan that is kept is the one
// that is there first, and the other's state is forgotten.

#include <ATen/core/stack.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aten/kernel/bound_plan.h"
#include "aten/kernel/kernel_arguments.h"
#include "aten/kernel/kernel_call.h"
#include "aten/plan/call_kind.h"
#include "aten/plan/ledger.h"
#include "aten/plan/plan_cache.h"

namespace torchplug::aten {

class BoundKernel {
 public:
  BoundKernel(Binding binding, const Module& module);

  // On success replaces the arguments on the stack by the results and returns kNone. Otherwise leaves
  // the stack alone and says why the call has to go another way. `known`: the call's plan of a caller who has
  // looked for it.
  Reason run(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream,
             const BoundPlan* known = nullptr);
  // Whether the kernel takes such a call, as far as can be told without making it: its plan says so, and its
  // `prepare`.
  bool takes(Arguments arguments, const PlanKey& key, const Stream& stream);

  const plug_kernel& kernel() const { return *binding_.kernel; }
  // What the ledger calls it.
  Way way() const { return binding_.is_any ? Way::kAny : Way::kKernel; }
  // Whom to tell why a call was declined. `is_second`: after another kernel, whose words stay if this one has
  // none.
  void explain_to(LedgerAccount& account, bool is_second) {
    account_ = &account;
    is_second_ = is_second;
  }

  // For a caller that has the arguments unboxed. Whether the kernel's arguments are the operator's, in order
  // and only read, and it gives one tensor: otherwise they have to be boxed.
  bool takes_all() const { return takes_all_; }
  // The plan of such a call, if there is one already; the calling thread's until it calls an operator.
  const BoundPlan* peek(const PlanKey& key) const { return plans_.peek(key); }
  // What is known of the call's kind, if anything is: given operands that all look alike, it needs no plan.
  const BoundKind* peek_kind(const PlanKey& kind) const { return kinds_.peek(kind); }
  // After a call without a plan.
  void note_unplanned(const PlanKey& key, const at::Tensor& output, const BoundKind& kind);
  // Carries out a direct call, whose outputs are there. kDeclined, or kNone.
  Reason run_direct(std::span<const plug_value> arguments, std::span<plug_value> results,
                    const AlikeCalls& alike, const Stream& stream, const at::Generator& generator = {}) const;

 private:
  // What a call that is not direct is given, and what has to live as long.
  struct Given {
    explicit Given(DeviceIndex device) : values(device) {}
    KernelArguments values;
    c10::SmallVector<c10::IValue, 8> prepared;
    c10::SmallVector<at::Tensor, 4> outputs;
    c10::SmallVector<at::Tensor, 4> shown;  // the outputs as the kernel sees them
  };

  class ResizedForNow;

  Reason check_arguments(Arguments arguments) const;
  std::shared_ptr<const BoundPlan> find_plan(Arguments arguments, const PlanKey& key, const Stream& stream,
                                             const BoundPlan* known);
  void prepare_plan(Arguments arguments, BoundPlan& plan, const Stream& stream) const;
  void learn_kind(Arguments arguments, const BoundPlan& plan);
  Reason decline(const std::string& why) const;
  Reason run_direct_boxed(torch::jit::Stack& stack, const BoundPlan& plan, const Stream& stream) const;
  inline uint64_t flags_of(const AlikeCalls& alike) const;
  C10_NOINLINE Reason note_declined(const KernelCall& call, const AlikeCalls& alike) const;
  inline Reason run_kernel(KernelCall& call, std::span<const plug_value> arguments, const AlikeCalls& alike,
                           const Stream& stream) const;
  Reason run_prepared(torch::jit::Stack& stack, const BoundPlan& plan, const Stream& stream) const;
  void give(Arguments arguments, const BoundPlan& plan, const Stream& stream, Given& given) const;
  void give_arguments(Arguments arguments, const BoundPlan& plan, const Stream& stream, Given& given) const;
  void give_results(Arguments arguments, const BoundPlan& plan, Given& given) const;
  void write_back(Arguments arguments, Arguments prepared) const;
  bool accepts(uint64_t bit) const { return (binding_.accepts & bit) != 0; }

  // `index`: among the outputs, of which a list has several.
  at::Tensor choose_output(size_t result, size_t index, Arguments arguments, const BoundPlan& plan,
                           const Stream& stream) const;
  at::Tensor argument_as_output(size_t result, size_t index, Arguments arguments,
                                const BoundPlan& plan) const;
  bool is_returned_argument(size_t result) const;
  void show_prepared_results(const BoundPlan& plan, Given& given) const;
  template <class Visit>
  void for_each_input(Arguments arguments, Visit visit) const;
  bool is_argument(const at::Tensor& target, Arguments arguments) const;
  bool can_write_into(const at::Tensor& target, size_t index, Arguments arguments,
                      const BoundPlan& plan) const;
  bool can_go_in_place(Arguments arguments, const BoundPlan& plan) const;
  void finish(torch::jit::Stack& stack, const KernelCall& call, Given& given, const BoundPlan& plan) const;
  c10::IValue finish_result(size_t result, size_t first, Arguments arguments, const KernelCall& call,
                            Given& given, const BoundPlan& plan) const;
  at::Tensor finish_tensor(size_t index, Arguments arguments, const at::Tensor& written,
                           const BoundPlan& plan) const;

  Binding binding_;
  BoundPlanner planner_;
  KernelTarget target_;
  size_t argument_count_;
  bool checks_arguments_;  // some have to have, or not to have, a certain value
  bool multiplies_;        // it may multiply tensors, which may be asked to lose precision
  bool takes_all_;         // the kernel's arguments are the operator's, in order, and only read
  bool needs_room_;        // more tensors than KernelArguments has room for in place
  LedgerAccount* account_ = nullptr;
  bool is_second_ = false;
  PlanCache<BoundPlan> plans_;
  PlanCache<BoundKind> kinds_;
  UnplannedCalls unplanned_;
};

}  // namespace torchplug::aten
