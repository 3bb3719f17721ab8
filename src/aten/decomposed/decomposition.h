#pragma once
// An operator carried out as what PyTorch decomposes it into, where the plugin asks for that and its kernels
// cover all of it. What it decomposes into is found out once for each plan (tracer.h) and is a Program from
// then on. A form in place or with out= computes what the functional one does and copies that.
//
// What the outputs look like, PyTorch's C++ shape function says. Where there is none, meta kernels are not
// quite trusted with strides: the first call of a kind compares what they say with what the CPU does.
//
// A program counts for all numbers that the plan's key has no word for (a learning rate), if a trace with
// other numbers gives the same one; otherwise for those of the call alone. Of an operator whose numbers are
// never the same twice only the first few are traced.

#include <ATen/core/stack.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aten/decomposed/program.h"
#include "aten/decomposed/tracer.h"
#include "aten/plan/ledger.h"
#include "aten/plan/operator_facts.h"
#include "aten/plan/plan_cache.h"

namespace torchplug::aten {

class Decomposition {
 public:
  // `account`: whom to tell why a call was not decomposed. Both outlive it.
  Decomposition(const OperatorFacts& facts, LedgerAccount& account);

  // Whether any call may be decomposed, as far as is known.
  bool is_possible() const { return !is_impossible_.load(std::memory_order_relaxed) && tracer() != nullptr; }

  // On success replaces the arguments on the stack by the results. Otherwise leaves the stack alone.
  bool run(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream);

 private:
  struct Plan {
    std::shared_ptr<const Program> program;  // null: it goes another way
    std::string why_not;
    std::vector<OutputShape> outputs;
    std::vector<bool> copies;  // by output: it is to be copied, to be new or to have its strides
    bool is_exact = false;     // numbers decide; there is a plan for each
    mutable std::atomic<int> exact_plans{0};
  };
  // Of a kind of calls: what the meta kernel said of one was what the CPU did.
  struct MetaTrust {};
  using PlanPtr = std::shared_ptr<const Plan>;

  bool can_decompose(Arguments arguments, const PlanKey& key) const;
  PlanKey key_of(Arguments arguments, Numbers numbers) const;
  PlanPtr find_plan(Arguments arguments, const PlanKey& key, const Stream& stream);
  PlanPtr find_exact_plan(Arguments arguments, const Plan& general, const Stream& stream);
  static std::shared_ptr<Plan> refused(std::string why_not);
  bool is_worth_tracing(const PlanKey& key);
  std::shared_ptr<Plan> make_plan(Arguments arguments, const Stream& stream, bool is_general);
  std::optional<torch::jit::Stack> with_other_numbers(Arguments inputs,
                                                      const torch::jit::Stack& on_meta) const;
  std::string complete(Plan& plan, const Trace& trace, const torch::jit::Stack& on_meta, Arguments arguments);
  std::optional<CallShape> shape_of(const OperatorFacts& functional, Arguments inputs);
  std::string check_target(const at::Tensor& target, const OutputShape& output) const;
  void finish(torch::jit::Stack& stack, std::vector<at::Tensor> results, const Plan& plan) const;
  at::Tensor finish_result(const at::Tensor& result, size_t index, Arguments arguments,
                           const Plan& plan) const;

  const OperatorFacts& facts_;
  LedgerAccount& account_;
  std::optional<OperatorFacts> functional_;  // another operator than `facts_`, which writes its result
  std::vector<size_t> targets_;              // by result: the argument that it is written to
  bool has_numbers_;
  std::atomic<bool> is_impossible_{false};
  PlanCache<Plan> plans_;
  PlanCache<Plan> exact_plans_;
  PlanCache<MetaTrust> kinds_;
  std::atomic<int> traces_{0};
  UnplannedCalls unplanned_;
};

}  // namespace torchplug::aten
