#pragma once
// An operator carried out by PyTorch's CPU kernel on the device's tensors.
// Where the plugin gives a host view and host_func, a call whose plan is known only plans, allocates
// and enqueues; the CPU kernel runs on the stream, into the planned outputs. The first call of a kind
// waits for the stream, runs at once, and learns the plan from its result; so what depends on the
// arguments' metadata is refused at the call, and only what depends on data fails later.

#include <ATen/core/stack.h>

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "aten/loan.h"
#include "aten/operator_facts.h"
#include "aten/plan_cache.h"
#include "aten/shape.h"

namespace torchplug {

// What the outputs of a call look like.
struct HostPlan {
  struct Output {
    OutputShape shape;
    int64_t argument = -1;  // the place, among the tensor arguments, of the one it is; -1: a new tensor

    bool is_new() const { return shape.is_tensor && argument < 0; }
  };
  std::vector<Output> outputs;
};

class HostKernel {
 public:
  explicit HostKernel(const OperatorFacts& facts);

  // Replaces the arguments on the stack by the results. Returns the bytes moved for it.
  uint64_t run(torch::jit::Stack& stack, const Stream& stream, LoanKind kind);

 private:
  struct Call;

  bool can_plan(Arguments arguments) const;
  void run_now(Call& call, std::shared_ptr<HostPlan>* learnt) const;
  void run_planned(Call& call, const HostPlan& plan) const;
  std::shared_ptr<HostPlan> plan_by_shape(Arguments arguments) const;
  std::shared_ptr<HostPlan> learn(const Loan& loan, Arguments results) const;
  void replace_ambient(torch::jit::Stack& arguments, const Stream& stream) const;

  bool is_proven(const PlanKey& key) const;
  void set_proven(const PlanKey& key);

  const OperatorFacts& facts_;
  std::optional<size_t> generator_argument_;
  PlanCache<HostPlan> plans_;
  mutable std::mutex proven_lock_;
  std::unordered_set<uint64_t> proven_;
};

}  // namespace torchplug
