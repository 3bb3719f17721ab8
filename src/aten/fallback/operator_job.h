#pragma once
// One planned call of an operator, carried out by PyTorch's CPU kernel on borrowed memory: now, or on its
// way through a stream, or at every replay of a graph. Holds CPU tensors only: it owns no device memory,
// which stays valid in stream order, and nothing that Python could have a hand on. Jobs and their tensors are
// used again and again.

#include <ATen/core/stack.h>

#include <deque>
#include <memory>
#include <vector>

#include "aten/fallback/caller_threads.h"
#include "aten/host/host_alias.h"
#include "aten/plan/operator_facts.h"
#include "runtime/generator.h"
#include "runtime/stream.h"

namespace torchplug::aten {

class OperatorJob final : public HostJob {
 public:
  using Pointer = std::unique_ptr<OperatorJob, ReleaseJob>;

  // An empty job for a call of the operator.
  static Pointer take(const OperatorFacts& facts);

  // The CPU tensor for a device tensor. The same tensor twice is the same CPU tensor twice, and tensors
  // that share memory share it: kernels compare.
  const at::Tensor& alias(const at::Tensor& original);
  // The operator's arguments, for the caller to fill with CPU values.
  torch::jit::Stack& arguments() { return arguments_; }
  // What the next result is to be written into; undefined where it is no new tensor.
  void add_output(const at::Tensor& original);
  // The CPU tensor that the next result is to be written into: staged memory.
  void add_host_output(at::Tensor output) { outputs_.push_back(std::move(output)); }
  // Where a random operator draws from; its argument has been filled with it.
  void set_generator(HostGenerator generator) { generator_ = std::move(generator); }
  // For a job in a capture: it will run more than once.
  void set_repeated() { is_repeated_ = true; }
  // For a job that runs on another thread.
  void take_thread_count() { threads_.take(/*later=*/true); }

  void run() override;
  const char* name() const override { return facts_->name.c_str(); }
  void release() noexcept override;

 private:
  void run(torch::jit::Stack& arguments);
  void run_out_form(const c10::OperatorHandle& out_form, torch::jit::Stack& arguments);
  bool has_new_outputs() const;

  const OperatorFacts* facts_ = nullptr;
  torch::jit::Stack arguments_;
  std::vector<at::Tensor> outputs_;
  std::vector<const c10::TensorImpl*> originals_;  // of the aliases in use
  std::deque<HostAlias> aliases_;
  HostGenerator generator_;
  bool is_repeated_ = false;
  CallerThreads threads_;
};

}  // namespace torchplug::aten
