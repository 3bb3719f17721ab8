#include "aten/host_kernel.h"

#include <ATen/ops/clone.h>
#include <ATen/ops/conj_physical.h>

#include <algorithm>
#include <cstring>

#include "aten/host_scope.h"
#include "aten/shape.h"
#include "aten/sparse.h"
#include "runtime/generator.h"

namespace torchplug {
namespace {

constexpr c10::DispatchKeySet kCpu{c10::DispatchKey::CPU};

bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  return a.strides() == b.strides() && a.is_non_overlapping_and_dense();
}

void copy_result(const at::Tensor& result, const at::Tensor& output, const std::string& name) {
  TORCH_CHECK(result.scalar_type() == output.scalar_type() && result.sizes() == output.sizes(), name,
              " gave a result of shape ", result.sizes(), " where ", output.sizes(),
              " was planned: its shape depends on data. Please report this to torchplug.");
  if (same_layout(result, output)) {
    std::memcpy(output.mutable_data_ptr(), result.const_data_ptr(), result.nbytes());
  } else {
    output.copy_(result);
  }
}

// Some kernels leave an output lazily conjugated. The device's tensor is out of reach by now, so its
// memory has to say it.
void resolve_lazy_bits(const at::Tensor& output) {
  if (output.is_conj()) {
    output._set_conj(false);
    at::conj_physical_(const_cast<at::Tensor&>(output));
  }
  if (output.is_neg()) {
    output._set_neg(false);
    output.neg_();
  }
}

// One planned call, on its way through the stream. Holds CPU tensors only: it owns no device memory,
// which stays valid in stream order, and nothing that Python could have a hand on.
class OperatorJob final : public HostJob {
 public:
  OperatorJob(const OperatorFacts& facts, torch::jit::Stack arguments, std::vector<at::Tensor> outputs)
      : facts_(facts),
        arguments_(std::move(arguments)),
        outputs_(std::move(outputs)),
        thread_count_(at::get_num_threads()) {}

  void run() override {
    const HostScope scope(thread_count_);
    const auto is_new = [](const at::Tensor& output) { return output.defined(); };
    if (facts_.out_form && std::all_of(outputs_.begin(), outputs_.end(), is_new)) {
      run_out_form();
      return;
    }
    facts_.handle.redispatchBoxed(kCpu, &arguments_);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (is_new(outputs_[i])) copy_result(arguments_[i].toTensor(), outputs_[i], facts_.name);
    }
  }

 private:
  void run_out_form() {
    std::vector<const void*> places;
    for (const at::Tensor& output : outputs_) {
      places.push_back(output.const_data_ptr());
      arguments_.emplace_back(output);
    }
    facts_.out_form->redispatchBoxed(kCpu, &arguments_);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      TORCH_CHECK(outputs_[i].const_data_ptr() == places[i], facts_.name, " resized output ", i, " to ",
                  outputs_[i].sizes(), " against its plan. Please report this to torchplug.");
      resolve_lazy_bits(outputs_[i]);
    }
  }

  const OperatorFacts& facts_;
  torch::jit::Stack arguments_;
  std::vector<at::Tensor> outputs_;  // by return; undefined where the result is no new tensor
  int thread_count_;
};

// A host scalar is read when the operator is called, not when it runs.
at::Tensor keep_host_scalar(const at::Tensor& tensor) {
  return is_on_device(tensor) || tensor.unsafeGetTensorImpl()->is_wrapped_number() ? tensor
                                                                                   : at::clone(tensor);
}

}  // namespace

struct HostKernel::Call {
  torch::jit::Stack arguments;
  Stream stream;
  LoanKind kind;
  torch::jit::Stack results;
  uint64_t bytes_moved = 0;
};

HostKernel::HostKernel(const OperatorFacts& facts) : facts_(facts) {
  const auto& arguments = facts.handle.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* optional = arguments[i].type()->castRaw<c10::OptionalType>();
    const auto kind = optional != nullptr ? optional->getElementType()->kind() : arguments[i].type()->kind();
    if (kind == c10::TypeKind::GeneratorType) generator_argument_ = i;
  }
}

uint64_t HostKernel::run(torch::jit::Stack& stack, const Stream& stream, LoanKind kind) {
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(facts_.argument_count);
  Call call{{std::make_move_iterator(first), std::make_move_iterator(stack.end())}, stream, kind, {}, 0};
  stack.erase(first, stack.end());

  if (kind == LoanKind::kBorrow && can_plan(call.arguments)) {
    PlanKey key(call.arguments, facts_.shape_needs_scalars, facts_.is_number);
    std::shared_ptr<const HostPlan> plan = plans_.find(key);
    if (plan == nullptr && facts_.is_structured && is_proven(key)) {
      plan = plan_by_shape(call.arguments);
      plans_.insert(key, plan);
    }
    if (plan != nullptr) {
      run_planned(call, *plan);
    } else {
      std::shared_ptr<HostPlan> learnt;
      run_now(call, &learnt);
      set_proven(key);
      if (learnt != nullptr) plans_.insert(std::move(key), std::move(learnt));
    }
  } else {
    run_now(call, nullptr);
  }
  for (c10::IValue& result : call.results) stack.push_back(std::move(result));
  return call.bytes_moved;
}

// Without a plan go: operators of other libraries, whose kernels may be Python or shape their results
// by data and not say so; results that are not single tensors, shapes that data decide, and host tensors
// that the caller may change before the operator runs.
bool HostKernel::can_plan(Arguments arguments) const {
  if (!facts_.is_aten || !facts_.returns_tensors || runtime().host_func == nullptr) return false;
  bool has_host_tensor = false;
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (!is_on_device(tensor) && tensor.dim() > 0) has_host_tensor = true;
    });
  }
  if (has_host_tensor) return false;
  return !facts_.shape_needs_data || (facts_.takes_host_indices && !has_mask(arguments));
}

// What the operator takes from its surroundings becomes the CPU's: the device and the generator.
void HostKernel::replace_ambient(torch::jit::Stack& arguments, const Stream& stream) const {
  for (c10::IValue& value : arguments) {
    if (value.isDevice() && value.toDevice().type() == kDeviceType) value = c10::Device(c10::kCPU);
  }
  if (!generator_argument_) return;
  c10::IValue& generator = arguments[*generator_argument_];
  generator =
      cpu_generator_from(generator.isNone() ? default_generator(stream.device()) : generator.toGenerator());
}

void HostKernel::run_now(Call& call, std::shared_ptr<HostPlan>* learnt) const {
  Loan loan(call.kind, call.stream);
  loan.add_all(call.arguments, facts_.writes);
  loan.open();
  torch::jit::Stack stack = loan.host_arguments(call.arguments);
  replace_ambient(stack, call.stream);
  {
    const HostScope scope(at::get_num_threads());
    facts_.handle.redispatchBoxed(kCpu, &stack);
  }
  loan.settle();
  if (learnt != nullptr) *learnt = learn(loan, stack);
  for (c10::IValue& value : stack) {
    replace_tensors(value, [&](const at::Tensor& tensor) {
      return tensor.layout() == at::kStrided ? loan.result(tensor)
                                             : move_to_device(tensor, call.stream.device());
    });
  }
  call.bytes_moved = loan.bytes_moved();
  call.results = std::move(stack);
  call.stream.synchronize_if_blocking();
}

std::shared_ptr<HostPlan> HostKernel::learn(const Loan& loan, Arguments results) const {
  if (loan.has_resized()) return nullptr;
  auto plan = std::make_shared<HostPlan>();
  for (const c10::IValue& value : results) {
    const at::Tensor& result = value.toTensor();
    HostPlan::Output output;
    if (result.defined()) {
      if (result.layout() != at::kStrided || result.is_conj() || result.is_neg()) return nullptr;
      output.argument = loan.position_of(result);
      if (output.argument < 0 && loan.shares_memory(result)) return nullptr;
    }
    output.shape = OutputShape::of(result);
    plan->outputs.push_back(std::move(output));
  }
  return plan;
}

std::shared_ptr<HostPlan> HostKernel::plan_by_shape(Arguments arguments) const {
  auto plan = std::make_shared<HostPlan>();
  for (OutputShape& shape : shape_structured(facts_, arguments)) plan->outputs.push_back({std::move(shape)});
  return plan;
}

void HostKernel::run_planned(Call& call, const HostPlan& plan) const {
  Loan loan(call.kind, call.stream);
  loan.add_all(call.arguments, facts_.writes);
  std::vector<at::Tensor> results;
  for (const HostPlan::Output& output : plan.outputs) {
    if (output.is_new()) {
      results.push_back(empty_on(call.stream, output.shape.sizes, output.shape.strides, output.shape.dtype));
      loan.add(results.back(), /*written=*/true);
    } else if (output.argument >= 0) {
      results.push_back(loan.original(static_cast<size_t>(output.argument)));
    } else {
      results.emplace_back();
    }
  }
  loan.open_in_order();
  for (c10::IValue& value : call.arguments) {
    // The caller may change a list before the operator runs.
    if (value.isList() && !value.isTensorList() && !value.isOptionalTensorList()) value = value.deepcopy();
    replace_tensors(value, keep_host_scalar);
  }
  torch::jit::Stack stack = loan.host_arguments(call.arguments);
  replace_ambient(stack, call.stream);
  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(plan.outputs[i].is_new() ? loan.host_tensor(results[i]) : at::Tensor());
  }
  call.stream.enqueue(std::make_unique<OperatorJob>(facts_, std::move(stack), std::move(outputs)));
  for (at::Tensor& result : results) call.results.emplace_back(std::move(result));
}

bool HostKernel::is_proven(const PlanKey& key) const {
  std::lock_guard lock(proven_lock_);
  return proven_.count(key.kind_hash()) != 0;
}

void HostKernel::set_proven(const PlanKey& key) {
  if (!facts_.is_structured) return;
  std::lock_guard lock(proven_lock_);
  proven_.insert(key.kind_hash());
}

}  // namespace torchplug
