#pragma once
// What PyTorch's dispatcher calls for an operator on the device: the plugin's kernel for it, if there is one
// and it takes the call; else its kernel for any operator, likewise; else what it decomposes into,
// if the plugin wants that and its kernels cover it; else the CPU's kernel on borrowed or staged memory.
// Counts in the ledger.

#include <ATen/core/stack.h>
#include <torch/library.h>

#include <functional>
#include <memory>

#include "aten/decomposed/decomposition.h"
#include "aten/fallback/host_kernel.h"
#include "aten/kernel/bound_kernel.h"
#include "aten/plan/fallback_policy.h"
#include "aten/plan/ledger.h"
#include "aten/plan/operator_facts.h"

namespace torchplug::aten {

// What a caller that has the arguments unboxed has found out about a call.
struct KnownCall {
  Reason refusal = Reason::kNone;  // not kNone: the first of the plugin's kernels has refused it
  // Its plans, if there are any.
  const BoundPlan* bound_plan = nullptr;
  const HostPlan* host_plan = nullptr;
};

class OperatorKernel final : public c10::OperatorKernel {
 public:
  // `host_key`: under which the CPU has the kernel that stands in. With that of plain tensors the plugin's
  // kernel for any operator is asked too.
  explicit OperatorKernel(const c10::OperatorHandle& handle, std::unique_ptr<BoundKernel> bound = nullptr,
                          c10::DispatchKey host_key = c10::DispatchKey::CPU);

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    (void)handle, (void)keys;
    run(*stack);
  }
  void run(torch::jit::Stack& stack);
  // For a caller that has made the call's key already.
  void run(torch::jit::Stack& stack, const PlanKey& key, const KnownCall& known = {});
  const c10::OperatorHandle& handle() const { return facts_.handle; }
  // Another way for what the plugin's kernel does not take, where the CPU's kernel would not do.
  using Composed = std::function<void(torch::jit::Stack& stack)>;
  void set_composed(Composed composed) { composed_ = std::move(composed); }
  // What it gives may depend on the value of any number.
  void heed_all_numbers() { facts_.numbers = Numbers::kValue; }
  // Whether the plugin's kernel for the operator says beforehand which calls it takes, and whether it takes
  // such a one.
  bool prepares() const { return bound_ != nullptr && bound_->kernel().prepare != nullptr; }
  bool takes(Arguments arguments);
  // By the plugin alone: whether it took the call, and the results are on the stack.
  bool run_by_plugin(torch::jit::Stack& stack);
  // After that; `reason`: why the plugin does not.
  void run_without_plugin(torch::jit::Stack& stack, Reason reason);

  // For TypedKernel, which does the commonest calls without boxing.
  const OperatorFacts& facts() const { return facts_; }
  // The plugin's kernel that is asked first; null if none is.
  BoundKernel* bound() const { return bound_ != nullptr ? bound_.get() : any_.get(); }
  HostKernel& host() { return host_; }
  // Whether calls without a kernel are borrowed as a matter of course: all memory is in the host's view and
  // nobody wants to be told.
  static bool borrows_always(DeviceIndex device);
  // Whether calls without a kernel may be decomposed.
  bool may_decompose() const { return decomposition_ != nullptr && decomposition_->is_possible(); }
  void count(Way way, Reason reason, const LedgerTimer& timer) {
    account_.count(way, reason, 0, timer.nanoseconds());
  }

 private:
  // kNone, or why none of the plugin's kernels took the call.
  Reason ask_plugin_kernels(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream,
                            const KnownCall& known);
  void run_on_host(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream, Reason reason,
                   const HostPlan* known);
  void own_written(Arguments arguments) const;
  DeviceIndex device_of(Arguments arguments) const;
  [[noreturn]] void refuse_mixture(DeviceIndex device, const at::Tensor& tensor) const;

  OperatorFacts facts_;
  std::unique_ptr<BoundKernel> bound_;
  std::unique_ptr<BoundKernel> any_;
  HostKernel host_;
  Composed composed_;
  LedgerAccount account_;
  FallbackNotice notice_;
  std::unique_ptr<Decomposition> decomposition_;  // null: not wanted
};

// The kernel for an operator that nobody made one for beforehand; lives until the operator is defined anew.
OperatorKernel& late_kernel(const c10::OperatorHandle& handle, c10::DispatchKey host_key);

[[noreturn]] void refuse_without_kernel(const c10::OperatorHandle& handle);

}  // namespace torchplug::aten
