#pragma once
// What PyTorch's dispatcher calls for an operator on the device: the plugin's kernel if there is one
// and it takes the call, else the CPU's kernel on borrowed or staged memory. Counts in the ledger.

#include <ATen/core/stack.h>
#include <torch/library.h>

#include <memory>

#include "aten/bound_kernel.h"
#include "aten/host_kernel.h"
#include "aten/ledger.h"
#include "aten/operator_facts.h"

namespace torchplug {

class OperatorKernel final : public c10::OperatorKernel {
 public:
  explicit OperatorKernel(const c10::OperatorHandle& handle, std::unique_ptr<BoundKernel> bound = nullptr);

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    (void)handle, (void)keys;
    run(*stack);
  }
  void run(torch::jit::Stack& stack);
  const c10::OperatorHandle& handle() const { return facts_.handle; }

 private:
  void run_on_host(torch::jit::Stack& stack, const Stream& stream, Reason reason);
  DeviceIndex device_of(Arguments arguments) const;
  [[noreturn]] void refuse_mixture(DeviceIndex device, const at::Tensor& tensor) const;
  void apply_fallback_policy(Way way, Reason reason);

  OperatorFacts facts_;
  std::unique_ptr<BoundKernel> bound_;
  HostKernel host_;
  LedgerAccount account_;
  std::atomic<bool> has_warned_{false};
};

}  // namespace torchplug
