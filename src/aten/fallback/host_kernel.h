#pragma once
// An operator carried out by PyTorch's CPU kernel on the device's tensors.
// In the capture of a graph a call with a plan becomes a job for the replays, with or without a host view.
// Where the plugin maps memory, a call without a host view runs at once, on the device memory itself.
// Where the plugin gives a host view, a call whose plan is known only allocates its outputs and lets the
// CPU kernel write them: on the stream if the plugin has host_func, else at once. The first call of a kind
// waits for the stream, runs at once, and learns the plan from its result; so what depends on the
// arguments' metadata is refused at the call, and only what depends on data fails later. A later call of the
// kind with other sizes waits only where nothing but a run tells what its outputs look like.

#include <ATen/core/stack.h>

#include <memory>
#include <optional>
#include <vector>

#include "aten/fallback/operator_job.h"
#include "aten/host/loan.h"
#include "aten/plan/call_kind.h"
#include "aten/plan/operator_facts.h"
#include "aten/plan/plan_cache.h"
#include "aten/plan/shape.h"

namespace torchplug::aten {

// What the outputs of a call look like.
struct HostPlan {
  uint64_t id = next_id();  // no other plan's, ever

  struct Output {
    OutputShape shape;
    int64_t argument = -1;   // the place, among the tensor arguments, of the one it is; -1: a new tensor
    bool is_shaped = false;  // the argument comes without elements and gets this shape

    bool is_new() const { return shape.is_tensor && argument < 0; }
  };
  std::vector<Output> outputs;

 private:
  static uint64_t next_id();
};

class HostKernel {
 public:
  // `host_key`: under which the CPU has its kernel. Only those of plain tensors are planned.
  HostKernel(const OperatorFacts& facts, c10::DispatchKey host_key);

  // Replaces the arguments on the stack by the results. Returns the bytes moved for it. A call that was to
  // borrow is staged, and `kind` says so, if memory for its results is out of the host's view. `known`: the
  // call's plan of a caller who has looked for it.
  uint64_t run(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream, LoanKind& kind,
               const HostPlan* known = nullptr);

  // The plan of a borrowing call, if there is one already; the calling thread's until it calls an operator.
  const HostPlan* peek(const PlanKey& key) const { return plans_.peek(key); }
  // What is known of the call's kind, if anything is; the calling thread's until it calls an operator.
  const CallKind* peek_kind(const PlanKey& kind) const { return kinds_.peek(kind); }
  // After a borrowing call without a plan, whose output was made by what is known of its kind.
  void note_unplanned(const PlanKey& key, const at::Tensor& output);

 private:
  bool can_plan(const PlanKey& key) const;
  // These say in `kind` that a staged call has borrowed, if it copied nothing.
  uint64_t run_staged(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream, LoanKind& kind);
  uint64_t run_first(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream, LoanKind& kind);
  void capture_staged(torch::jit::Stack& stack, const HostPlan& plan, const Stream& stream) const;
  void refuse_in_capture(const PlanKey& key, const Stream& stream) const;
  const char* why_unplanned() const;
  uint64_t run_now(torch::jit::Stack& stack, const Stream& stream, LoanKind& kind,
                   std::shared_ptr<HostPlan>* learnt, const HostPlan* known = nullptr) const;
  bool may_map() const;
  static bool makes_all(const HostPlan& plan);
  bool writes_much(const HostPlan& plan) const;
  void run_on_host(torch::jit::Stack& work, const Stream& stream, LoanKind kind) const;
  void run_into(const c10::OperatorHandle& out_form, torch::jit::Stack& work,
                const std::vector<at::Tensor>& results) const;
  bool run_planned(torch::jit::Stack& stack, const HostPlan& plan, const Stream& stream) const;
  void fill_arguments(OperatorJob& job, Arguments arguments, const Stream& stream, bool later) const;
  at::Tensor tensor_argument(const torch::jit::Stack& stack, int64_t place) const;
  void shape_outputs(const torch::jit::Stack& stack, const HostPlan& plan) const;
  std::shared_ptr<const HostPlan> plan_by_kind(Arguments arguments) const;
  static std::shared_ptr<HostPlan> learn(const Loan& loan, Arguments results);
  void learn_kind(Arguments arguments, const HostPlan& plan);
  bool is_in_place(const HostPlan::Output& output) const;
  bool is_as_shaped(Arguments arguments, const HostPlan& plan) const;
  PlanKey kind_of(Arguments arguments) const;
  HostGenerator replace_ambient(torch::jit::Stack& arguments, const Stream& stream) const;

  const OperatorFacts& facts_;
  c10::DispatchKey host_key_;
  std::optional<size_t> generator_argument_;
  PlanCache<HostPlan> plans_;
  PlanCache<CallKind> kinds_;
  UnplannedCalls unplanned_;
};

}  // namespace torchplug::aten
