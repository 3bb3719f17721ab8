#include "aten/fallback/host_kernel.h"

#include <ATen/Context.h>
#include <ATen/ops/clone.h>

#include <algorithm>
#include <atomic>

#include "aten/fallback/operator_job.h"
#include "aten/fallback/whole_copy.h"
#include "aten/host/host_scope.h"
#include "aten/plan/shape.h"
#include "aten/tensor/storage.h"
#include "memory/address_index.h"
#include "runtime/capture.h"
#include "runtime/generator.h"
#include "runtime/submit.h"

namespace torchplug::aten {
namespace {

// A host scalar is read when the operator is called, not when it runs.
at::Tensor keep_host_scalar(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number() ? tensor : at::clone(tensor);
}

}  // namespace

uint64_t HostPlan::next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

HostKernel::HostKernel(const OperatorFacts& facts, c10::DispatchKey host_key)
    : facts_(facts), host_key_(host_key) {
  const auto& arguments = facts.handle.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (without_optional(arguments[i].type())->kind() == c10::TypeKind::GeneratorType)
      generator_argument_ = i;
  }
}

uint64_t HostKernel::run(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream, LoanKind& kind,
                         const HostPlan* known) {
  if (kind == LoanKind::kMetadata) return run_now(stack, stream, kind, nullptr);
  if (!can_plan(key)) {
    refuse_in_capture(key, stream);
    return run_now(stack, stream, kind, nullptr);
  }
  if (kind == LoanKind::kStage) return run_staged(stack, key, stream, kind);
  if (known == nullptr) known = plans_.peek(key);
  std::shared_ptr<const HostPlan> plan;
  if (C10_LIKELY(known != nullptr)) {
    plan = plans_.own(*known);
  } else {
    plan = plan_by_kind(torch::jit::last(stack, facts_.argument_count));
    if (plan == nullptr) return run_first(stack, key, stream, kind);
    plans_.insert(key, plan);
  }
  if (C10_LIKELY(run_planned(stack, *plan, stream))) return 0;
  kind = LoanKind::kStage;
  return run_staged(stack, key, stream, kind);
}

// A staged call runs at once. Its plan is for captures.
uint64_t HostKernel::run_staged(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream,
                                LoanKind& kind) {
  const HostPlan* known = plans_.peek(key);
  if (C10_UNLIKELY(known == nullptr)) return run_first(stack, key, stream, kind);
  if (!is_capturing(stream)) {
    const std::shared_ptr<const HostPlan> plan = plans_.own(*known);
    return run_now(stack, stream, kind, nullptr, plan.get());
  }
  capture_staged(stack, *plans_.own(*known), stream);
  return 0;
}

void HostKernel::refuse_in_capture(const PlanKey& key, const Stream& stream) const {
  const auto capture = capture_of(stream);
  if (capture == nullptr) return;
  if (key.has_host_tensor()) {
    capture->refuse(facts_.name +
                    " cannot be captured in a graph with a CPU tensor as argument, since it may change "
                    "before the graph is replayed. Copy the tensor to the device before the capture.");
  }
  capture->refuse(facts_.name + " cannot be captured in a graph, since " + why_unplanned() +
                  ". Run it outside of the capture.");
}

// Of a call that can_plan() denies for another reason than a CPU tensor.
const char* HostKernel::why_unplanned() const {
  if (!facts_.is_aten)
    return "it is not PyTorch's own, and the device has no kernel for it: its CPU kernel, which may do "
           "anything, runs when it is called";
  if (!facts_.returns_tensors) return "its result is known only when it runs";
  if (host_key_ != c10::DispatchKey::CPU) return "operators on quantized tensors run when they are called";
  if (facts_.refuses_determinism || facts_.has_deterministic_way)
    return "it heeds the deterministic mode of the moment when it is called";
  return "the shape of its result depends on data";
}

// The first call of a kind, or one of which nothing but a run tells what its outputs look like.
uint64_t HostKernel::run_first(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream,
                               LoanKind& kind) {
  refuse_unplanned(stream, facts_.name);
  torch::jit::Stack given;
  if (facts_.is_structured || facts_.is_pointwise)
    given = torch::jit::last(stack, facts_.argument_count).vec();
  std::shared_ptr<HostPlan> learnt;
  const uint64_t bytes = run_now(stack, stream, kind, &learnt);
  if (learnt == nullptr) return bytes;
  if (!given.empty()) learn_kind(given, *learnt);
  plans_.insert(key, std::move(learnt));
  return bytes;
}

// Without a plan go: operators of other libraries, whose kernels may be Python or shape their results
// by data and not say so; results that are not single tensors, shapes that data decide, and host tensors
// that the caller may change before the operator runs; and what must see the deterministic mode of the call,
// not of a later moment.
bool HostKernel::can_plan(const PlanKey& key) const {
  if (!facts_.is_aten || !facts_.returns_tensors || key.has_host_tensor()) return false;
  if (host_key_ != c10::DispatchKey::CPU || facts_.refuses_determinism) return false;
  if (facts_.has_deterministic_way && at::globalContext().deterministicAlgorithms()) return false;
  return !facts_.shape_needs_data || (facts_.takes_host_indices && !key.has_mask());
}

// What the operator takes from its surroundings becomes the CPU's: the device and the generator.
HostGenerator HostKernel::replace_ambient(torch::jit::Stack& arguments, const Stream& stream) const {
  for (c10::IValue& value : arguments) {
    if (value.isDevice() && value.toDevice().type() == kDeviceType) value = c10::Device(c10::kCPU);
  }
  if (!generator_argument_) return {};
  c10::IValue& argument = arguments[*generator_argument_];
  HostGenerator generator(argument.isNone() ? default_generator(stream.device()) : argument.toGenerator(),
                          stream);
  argument = generator.generator();
  return generator;
}

// An object may keep what it is made of. A kernel of another library may be Python, which may wait for a
// thread that waits until nothing is mapped.
bool HostKernel::may_map() const { return facts_.is_aten && !facts_.makes_object; }

uint64_t HostKernel::run_now(torch::jit::Stack& stack, const Stream& stream, LoanKind& kind,
                             std::shared_ptr<HostPlan>* learnt, const HostPlan* known) const {
  const CallsFor calls(facts_.name.c_str());
  Loan loan(kind, stream);
  if (may_map()) loan.allow_maps();
  const bool fills_results = known != nullptr && makes_all(*known);
  const c10::OperatorHandle* const out_form = fills_results && facts_.out_form ? &*facts_.out_form : nullptr;
  std::vector<at::Tensor> results;
  if (out_form != nullptr && loan.may_map()) {
    for (const HostPlan::Output& output : known->outputs) {
      results.push_back(empty_on(stream, output.shape));
      loan.add_result(results.back());
    }
  }
  loan.add_all(torch::jit::last(stack, facts_.argument_count), facts_.writes, facts_.overwrites);
  loan.open();
  torch::jit::Stack work = loan.host_arguments(torch::jit::last(stack, facts_.argument_count));
  replace_ambient(work, stream);
  for (at::Tensor& result : results) result = loan.host_tensor(result);
  if (out_form != nullptr && results.empty() && writes_much(*known)) {
    for (const HostPlan::Output& output : known->outputs) {
      results.push_back(empty_pinned(output.shape.sizes, output.shape.strides, output.shape.dtype));
    }
  }
  if (out_form != nullptr && !results.empty()) {
    run_into(*out_form, work, results);
  } else {
    run_on_host(work, stream, kind);
  }
  loan.settle();
  if (learnt != nullptr) *learnt = learn(loan, work);
  torch::jit::drop(stack, facts_.argument_count);
  for (c10::IValue& value : work) {
    replace_tensors(value, [&](const at::Tensor& tensor) {
      return is_plain(tensor) ? loan.result(tensor) : move_to_device(tensor, stream.device());
    });
    stack.push_back(std::move(value));
  }
  if (loan.has_copied_nothing()) kind = LoanKind::kBorrow;
  return loan.bytes_moved();
}

bool HostKernel::makes_all(const HostPlan& plan) {
  return std::ranges::all_of(plan.outputs, [](const HostPlan::Output& output) { return output.is_new(); });
}

// Memory that the kernel allocates itself is new each time, and the system clears it page by page: for large
// results that takes longer than the operator.
bool HostKernel::writes_much(const HostPlan& plan) const {
  const auto is_large = [](const HostPlan::Output& output) { return output.shape.bytes >= kPinnedFrom; };
  return std::ranges::any_of(plan.outputs, is_large);
}

// `results` are the caller's: PyTorch 2.11 drops the arguments before it reads a second result, which is one
// of them.
void HostKernel::run_into(const c10::OperatorHandle& out_form, torch::jit::Stack& work,
                          const std::vector<at::Tensor>& results) const {
  for (const at::Tensor& result : results) work.emplace_back(result);
  const HostScope scope;
  out_form.redispatchBoxed(c10::DispatchKeySet(host_key_), &work);
}

// On borrowed memory this is the device's work, if done by the host's processor.
void HostKernel::run_on_host(torch::jit::Stack& work, const Stream& stream, LoanKind kind) const {
  const auto run = [&](uint64_t /*number*/) -> plug_status {
    const HostScope scope;
    facts_.handle.redispatchBoxed(c10::DispatchKeySet(host_key_), &work);
    return PLUG_OK;
  };
  if (kind != LoanKind::kBorrow) {
    run(0);
    return;
  }
  const Work work_here{.kind = Work::Kind::kHost,
                       .stream = stream,
                       .function = "host_view",
                       .name = facts_.name.c_str(),
                       .is_here = true};
  submit(work_here, run);
}

std::shared_ptr<HostPlan> HostKernel::learn(const Loan& loan, Arguments results) {
  if (loan.has_resized()) return nullptr;
  auto plan = std::make_shared<HostPlan>();
  size_t shaped = 0;
  for (const c10::IValue& value : results) {
    const at::Tensor& result = value.toTensor();
    HostPlan::Output output;
    if (result.defined()) {
      if (!is_plain(result) || result.is_quantized()) return nullptr;
      if (result.is_conj() || result.is_neg()) return nullptr;
      output.argument = loan.position_of(result);
      if (output.argument < 0 && loan.shares_memory(result)) return nullptr;
      output.is_shaped = output.argument >= 0 && loan.is_shaped(output.argument);
      if (output.is_shaped) ++shaped;
    }
    output.shape = OutputShape::of(result);
    plan->outputs.push_back(std::move(output));
  }
  return shaped == loan.shaped_count() ? plan : nullptr;
}

PlanKey HostKernel::kind_of(Arguments arguments) const {
  return {arguments, facts_.numbers, facts_.is_number, KeyOf::kKind};
}

// What a call that has been run, and got the plan, tells of all calls of its kind.
void HostKernel::learn_kind(Arguments arguments, const HostPlan& plan) {
  auto kind = std::make_shared<CallKind>();
  kind->has_shape = facts_.is_structured && !facts_.checks_late && is_as_shaped(arguments, plan);
  Operands operands;
  for (const c10::IValue& value : arguments) operands.add(value);
  const c10::TensorImpl* common = operands.common();
  if (facts_.is_pointwise && common != nullptr && plan.outputs.size() == 1) {
    const HostPlan::Output& output = plan.outputs[0];
    if (output.shape.looks_like(*common) && (output.is_new() || is_in_place(output)))
      kind->dtype_like_operands = output.shape.dtype;
  }
  if (kind->has_shape || kind->dtype_like_operands != at::ScalarType::Undefined)
    kinds_.insert(kind_of(arguments), std::move(kind));
}

bool HostKernel::is_in_place(const HostPlan::Output& output) const {
  return facts_.is_in_place && output.argument == 0 && !output.is_shaped;
}

// Whether PyTorch's shape function says what the plan does.
bool HostKernel::is_as_shaped(Arguments arguments, const HostPlan& plan) const {
  torch::jit::Stack shaped;
  try {
    shaped = shape_structured(facts_, arguments);
  } catch (const c10::Error&) {
    return false;
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const HostPlan::Output& output = plan.outputs[i];
    if (facts_.is_in_place ? !is_in_place(output) : !output.is_new()) return false;
    const at::Tensor& tensor = shaped[i].toTensor();
    if (tensor.scalar_type() != output.shape.dtype || !output.shape.looks_like(*tensor.unsafeGetTensorImpl()))
      return false;
  }
  return true;
}

// The plan of a call of which everything can be told without running it; null if not.
std::shared_ptr<const HostPlan> HostKernel::plan_by_kind(Arguments arguments) const {
  if (!facts_.is_structured) return nullptr;
  const CallKind* kind = kinds_.peek(kind_of(arguments));
  if (kind == nullptr || !kind->has_shape) return nullptr;
  auto plan = std::make_shared<HostPlan>();
  for (const c10::IValue& value : shape_structured(facts_, arguments)) {
    plan->outputs.push_back({OutputShape::of(value.toTensor()), facts_.is_in_place ? 0 : -1});
  }
  return plan;
}

void HostKernel::note_unplanned(const PlanKey& key, const at::Tensor& output) {
  if (!unplanned_.has_met(key)) return;
  auto plan = std::make_shared<HostPlan>();
  plan->outputs.push_back({OutputShape::of(output), facts_.is_in_place ? 0 : -1});
  plans_.insert(key, std::move(plan));
}

// Outputs that came empty look as the kernel would have made them, before it runs.
void HostKernel::shape_outputs(const torch::jit::Stack& stack, const HostPlan& plan) const {
  for (const HostPlan::Output& output : plan.outputs) {
    if (C10_LIKELY(!output.is_shaped)) continue;
    const at::Tensor tensor = tensor_argument(stack, output.argument);
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(output.shape.sizes, output.shape.strides);
    fit_storage(tensor);
  }
}

// False, with nothing done but shaping, if memory of a result is out of the host's view.
bool HostKernel::run_planned(torch::jit::Stack& stack, const HostPlan& plan, const Stream& stream) const {
  shape_outputs(stack, plan);
  c10::SmallVector<at::Tensor, 4> results;
  for (const HostPlan::Output& output : plan.outputs) {
    at::Tensor& result = results.emplace_back();
    if (output.is_new()) {
      result = empty_on(stream, output.shape);
    } else if (output.argument >= 0) {
      result = tensor_argument(stack, output.argument);
    }
  }
  const auto is_hidden = [](const at::Tensor& result) {
    return result.defined() && !is_in_host_view(result);
  };
  if (C10_UNLIKELY(any_block_lacks_host_view()) && std::any_of(results.begin(), results.end(), is_hidden))
    return false;
  const bool is_captured = is_capturing(stream);
  const bool in_order = plugin_has<&plug_runtime::host_func>(stream.device()) || is_captured;
  auto job = OperatorJob::take(facts_);
  if (is_captured) job->set_repeated();
  fill_arguments(*job, torch::jit::last(stack, facts_.argument_count), stream, in_order);
  for (size_t i = 0; i < results.size(); ++i) {
    job->add_output(plan.outputs[i].is_new() ? results[i] : at::Tensor());
  }
  torch::jit::drop(stack, facts_.argument_count);
  if (in_order) {
    job->take_thread_count();
    stream.enqueue(HostJobPtr(job.release()));
  } else {
    stream.run_here(*job);
  }
  for (at::Tensor& result : results) stack.emplace_back(std::move(result));
  return true;
}

// The arguments as the CPU's kernel sees them. Those of a job that runs later are the job's own.
void HostKernel::fill_arguments(OperatorJob& job, Arguments arguments, const Stream& stream,
                                bool later) const {
  torch::jit::Stack& filled = job.arguments();
  for (const c10::IValue& value : arguments) {
    if (value.isTensor() && is_on_device(value.toTensor())) {
      filled.emplace_back(job.alias(value.toTensor()));
      continue;
    }
    filled.push_back(value);
    if (!value.isTensor() && !value.isList()) continue;
    // The caller may change a list before the operator runs.
    if (later && value.isList() && !is_list_of_tensors(value)) filled.back() = value.deepcopy();
    replace_tensors(filled.back(), [&](const at::Tensor& tensor) {
      if (is_on_device(tensor)) return job.alias(tensor);
      return later ? keep_host_scalar(tensor) : tensor;
    });
  }
  job.set_generator(replace_ambient(filled, stream));
}

// A staged call in the order of the stream: copies to host memory of the job's own, the CPU's kernel there,
// and copies back.
void HostKernel::capture_staged(torch::jit::Stack& stack, const HostPlan& plan, const Stream& stream) const {
  refuse_host_work(stream, facts_.name, /*is_staged=*/true);
  const CallsFor calls(facts_.name.c_str());
  shape_outputs(stack, plan);
  const Arguments arguments = torch::jit::last(stack, facts_.argument_count);
  Loan loan(LoanKind::kStage, stream);
  loan.add_all(arguments, facts_.writes, facts_.overwrites);
  loan.open_in_order();
  auto job = OperatorJob::take(facts_);
  job->set_repeated();
  job->arguments() = loan.host_arguments(arguments);
  for (c10::IValue& value : job->arguments()) {
    if (value.isList() && !is_list_of_tensors(value)) value = value.deepcopy();
    if (value.isTensor() && value.toTensor().defined() && !loan.shares_memory(value.toTensor()))
      value = keep_host_scalar(value.toTensor());
  }
  job->set_generator(replace_ambient(job->arguments(), stream));
  c10::SmallVector<at::Tensor, 4> results;
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 4> made;  // on the device, on the host
  for (const HostPlan::Output& output : plan.outputs) {
    if (output.is_new()) {
      results.push_back(empty_on(stream, output.shape));
      made.emplace_back(results.back(),
                        empty_pinned(output.shape.sizes, output.shape.strides, output.shape.dtype));
      job->add_host_output(made.back().second);
      continue;
    }
    results.push_back(output.argument >= 0 ? tensor_argument(stack, output.argument) : at::Tensor());
    job->add_host_output({});
  }
  job->take_thread_count();
  stream.enqueue(HostJobPtr(job.release()));
  loan.settle();
  for (const auto& [there, here] : made) {
    write_storage(here.storage().data(), *there.storage().unsafeGetStorageImpl(), 0, there.storage().nbytes(),
                  stream);
  }
  torch::jit::drop(stack, facts_.argument_count);
  for (at::Tensor& result : results) stack.emplace_back(std::move(result));
}

// The device tensor in the given place among those that the arguments hold.
at::Tensor HostKernel::tensor_argument(const torch::jit::Stack& stack, int64_t place) const {
  at::Tensor found;
  for (const c10::IValue& value : torch::jit::last(stack, facts_.argument_count)) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (is_on_device(tensor) && place-- == 0) found = tensor;
    });
  }
  return found;
}

}  // namespace torchplug::aten
