#include "aten/own/cpu_kernel.h"

#include <ATen/EmptyTensor.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "aten/host/host_scope.h"
#include "aten/plan/operator_facts.h"

namespace torchplug::aten {
namespace {

at::Tensor empty_like(const ShapedTensor<int64_t>& shape) {
  return shape.strides.empty()
             ? at::Tensor(at::detail::empty_cpu(shape.sizes, shape.dtype))
             : at::Tensor(at::detail::empty_strided_cpu(shape.sizes, shape.strides, shape.dtype));
}

c10::IValue list_of_tensors(const std::vector<at::Tensor>& tensors) {
  return c10::List<at::Tensor>(c10::ArrayRef<at::Tensor>(tensors));
}

}  // namespace

// The tensors of one call's results, as the kernel sees them.
struct CpuKernel::Results {
  std::vector<std::vector<at::Tensor>> tensors;
  std::vector<std::vector<plug_tensor>> described;
  std::vector<plug_value> values;
};

CpuKernel::CpuKernel(const OwnOperator& own) : own_(own), argument_count_(own.schema.arguments().size()) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(
      own.schema.operator_name().name.c_str(), own.schema.operator_name().overload_name.c_str());
  const OperatorFacts facts(handle);
  // A function of the plugin's may decide shapes by any number.
  numbers_ = own.kernel.shape != nullptr ? Numbers::kValue : facts.numbers;
  is_number_ = facts.is_number;
  for (const c10::Argument& argument : own.schema.arguments())
    types_.push_back(without_optional(argument.real_type())->kind());
}

bool CpuKernel::takes(const at::Tensor& tensor) const {
  if ((tensor.is_conj() || tensor.is_neg()) && !own_.accepts(PLUG_ACCEPTS_LAZY_BITS)) return false;
  if (own_.accepts(PLUG_ACCEPTS_STRIDED) || tensor.is_contiguous()) return true;
  return own_.accepts(PLUG_ACCEPTS_DENSE) && tensor.is_non_overlapping_and_dense();
}

std::shared_ptr<CpuKernel::Plan> CpuKernel::make_plan(Arguments arguments) const {
  check_tensors(own_, arguments);
  auto plan = std::make_shared<Plan>();
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      plan->is_ready.push_back(takes(tensor));
      plan->inputs_ready = plan->inputs_ready && plan->is_ready.back();
    });
  }
  plan->outputs = shape_results<int64_t>(own_, arguments);
  const auto is_single = [](const auto& output) {
    return output && !output->is_list && !output->is_absent();
  };
  plan->is_direct = plan->inputs_ready && std::ranges::all_of(plan->outputs, is_single);
  return plan;
}

at::Tensor CpuKernel::prepare(const at::Tensor& tensor, bool is_ready) const {
  if (is_ready) return tensor;
  at::Tensor resolved = own_.accepts(PLUG_ACCEPTS_LAZY_BITS) ? tensor : tensor.resolve_conj().resolve_neg();
  return takes(resolved) ? resolved : resolved.contiguous();
}

// Empty if the arguments can be given as they are.
std::vector<c10::IValue> CpuKernel::prepare_all(Arguments arguments, const Plan& plan) const {
  std::vector<c10::IValue> prepared;
  if (plan.inputs_ready) return prepared;
  size_t next = 0;
  for (const c10::IValue& value : arguments) {
    prepared.push_back(value);
    replace_tensors(prepared.back(),
                    [&](const at::Tensor& tensor) { return prepare(tensor, plan.is_ready[next++]); });
  }
  return prepared;
}

// What the kernel wrote of an argument that had to be copied for it reaches the caller's tensor.
void CpuKernel::write_back(Arguments arguments, Arguments prepared) const {
  for (size_t i = 0; i < prepared.size(); ++i) {
    if (!own_.writes[i]) continue;
    std::vector<at::Tensor> written;
    for_each_tensor(prepared[i], [&](const at::Tensor& tensor) { written.push_back(tensor); });
    size_t next = 0;
    for_each_tensor(arguments[i], [&](const at::Tensor& given) {
      const at::Tensor& tensor = written[next++];
      if (!given.is_same(tensor)) given.copy_(tensor);
    });
  }
}

CpuKernel::Results CpuKernel::make_results(Arguments prepared, const Plan& plan) const {
  const size_t count = plan.outputs.size();
  Results results{std::vector<std::vector<at::Tensor>>(count), std::vector<std::vector<plug_tensor>>(count),
                  std::vector<plug_value>(count)};
  for (size_t i = 0; i < count; ++i) {
    std::vector<at::Tensor>& tensors = results.tensors[i];
    if (const auto& place = own_.returned[i]) {
      for_each_tensor(prepared[*place], [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
    } else if (const auto& output = plan.outputs[i]) {
      if (output->is_absent()) continue;
      for (const ShapedTensor<int64_t>& shape : output->tensors) tensors.push_back(empty_like(shape));
    } else {
      if (is_number(own_.kinds[i])) results.values[i] = open_number(own_.kinds[i], prepared);
      continue;
    }
    for (const at::Tensor& tensor : tensors) {
      results.described[i].push_back(describe(tensor));
      results.described[i].back().flags |= PLUG_TENSOR_WRITTEN;
    }
    results.values[i].tag = own_.kinds[i] == ResultKind::kTensors ? PLUG_VALUE_TENSORS : PLUG_VALUE_TENSOR;
    results.values[i].count = static_cast<uint32_t>(tensors.size());
    results.values[i].as.tensors = results.described[i].data();
  }
  return results;
}

// What `prepare` shaped holds for all calls of the kind.
void CpuKernel::learn_shapes(const HostCall& call, Plan& plan) const {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const auto shaped = call.shaped_result(i);
    if (shaped.empty() || !own_.is_new(i)) continue;
    ShapedResult<int64_t> result{own_.kinds[i] == ResultKind::kTensors, {}};
    for (const at::Tensor& tensor : shaped)
      result.tensors.push_back({tensor.sizes().vec(), tensor.scalar_type(), tensor.strides().vec()});
    plan.outputs[i] = std::move(result);
  }
}

void CpuKernel::run(torch::jit::Stack& stack) {
  const HostScope scope;
  const Arguments arguments = torch::jit::last(stack, argument_count_);
  const PlanKey key(arguments, numbers_, is_number_);
  if (const Plan* known = plans_.peek(key)) {
    const std::shared_ptr<const Plan> plan = plans_.own(*known);
    return plan->is_direct ? run_direct(stack, *plan) : run_prepared(stack, *plan, nullptr);
  }
  const std::shared_ptr<Plan> made = make_plan(arguments);
  run_prepared(stack, *made, made.get());
  plans_.insert(key, made);
}

void CpuKernel::add_arguments(Arguments arguments, KernelArguments& given) const {
  given.reserve(arguments, own_.returned.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    // Memory that is shared until it is written is copied now.
    if (own_.writes[i])
      for_each_tensor(arguments[i], [](const at::Tensor& tensor) { (void)tensor.mutable_data_ptr(); });
    given.add_argument(arguments[i], types_[i], own_.writes[i]);
  }
}

void CpuKernel::run_direct(torch::jit::Stack& stack, const Plan& plan) const {
  KernelArguments given(/*device=*/0);
  add_arguments(torch::jit::last(stack, argument_count_), given);
  c10::SmallVector<at::Tensor, 4> outputs;
  for (const auto& output : plan.outputs) {
    if (output) outputs.push_back(empty_like(output->tensors.front()));  // a direct call has them all
    given.add_result(outputs.back());
  }
  HostCall call(own_.module, own_.kernel, own_.name.c_str(), own_.text.c_str(), own_.kinds, given.arguments(),
                given.results());
  if (given.generator().defined()) call.set_generator(given.generator());
  call.run(plan.state == nullptr ? nullptr : plan.state->get());
  torch::jit::drop(stack, argument_count_);
  for (at::Tensor& output : outputs) stack.emplace_back(std::move(output));
}

// `made`: the plan, if it is new: the kernel's `prepare` is asked, and says more about it.
void CpuKernel::run_prepared(torch::jit::Stack& stack, const Plan& plan, Plan* made) const {
  const Arguments arguments = torch::jit::last(stack, argument_count_);
  const std::vector<c10::IValue> copies = prepare_all(arguments, plan);
  const Arguments prepared = copies.empty() ? arguments : Arguments(copies);
  KernelArguments given(/*device=*/0);
  add_arguments(prepared, given);
  Results results = make_results(prepared, plan);
  HostCall call(own_.module, own_.kernel, own_.name.c_str(), own_.text.c_str(), own_.kinds, given.arguments(),
                results.values);
  if (given.generator().defined()) call.set_generator(given.generator());
  if (made != nullptr && own_.kernel.prepare != nullptr) {
    constexpr DeviceIndex kHost = -1;
    if (void* state = call.prepare())
      made->state = std::make_unique<const KernelState>(own_.module, own_.kernel, state, kHost);
    learn_shapes(call, *made);
  }
  call.run(plan.state == nullptr ? nullptr : plan.state->get());
  write_back(arguments, copies);
  std::vector<c10::IValue> finished;
  for (size_t i = 0; i < results.values.size(); ++i)
    finished.push_back(finish(i, arguments, plan, call, results));
  torch::jit::drop(stack, argument_count_);
  for (c10::IValue& result : finished) stack.push_back(std::move(result));
}

c10::IValue CpuKernel::finish(size_t index, Arguments arguments, const Plan& plan, const HostCall& call,
                              const Results& results) const {
  if (const auto& place = own_.returned[index]) return arguments[*place];
  if (const auto& output = plan.outputs[index]; output && output->is_absent()) return at::Tensor();
  const plug_value& value = results.values[index];
  const ResultKind kind = own_.kinds[index];
  if (is_number(kind)) return number_of(value, kind, own_.name.c_str(), index);
  if (is_numbers(kind)) return numbers_of(value, kind);
  const std::vector<at::Tensor>& given = results.tensors[index];
  const std::vector<at::Tensor> shaped = given.empty() ? call.shaped_result(index) : given;
  if (kind == ResultKind::kTensors) return list_of_tensors(shaped);
  TORCH_CHECK(!shaped.empty(), own_.name, ": its kernel shaped no result ", index,
              ". It calls host->output for each.");
  return shaped.back();
}

void DeviceOnlyKernel::operator()(const c10::OperatorHandle& /*handle*/, c10::DispatchKeySet /*keys*/,
                                  torch::jit::Stack* stack) {
  const Arguments arguments = torch::jit::last(*stack, own_.schema.arguments().size());
  check_tensors(own_, arguments);
  bool has_tensors = false;
  for (const c10::IValue& value : arguments)
    for_each_tensor(value, [&](const at::Tensor& /*tensor*/) { has_tensors = true; });
  TORCH_CHECK_NOT_IMPLEMENTED(!has_tensors, own_.name, " takes tensors of the device '", own_.module.name,
                              "' only, and was given CPU tensors. Move them there, with '", own_.module.name,
                              "' as the device of this process.");
  TORCH_CHECK_NOT_IMPLEMENTED(false, own_.name, " runs on the device '", own_.module.name,
                              "' only, and was given no tensor there is. Give it one of that device.");
}

}  // namespace torchplug::aten
