#include "aten/decomposed/decomposition.h"

#include <ATen/Context.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "aten/kernel/binding.h"
#include "aten/plan/fallback_policy.h"
#include "aten/plan/host_shape.h"
#include "aten/tensor/strides.h"
#include "runtime/device.h"

namespace torchplug::aten {
namespace {

// An operator whose numbers decide what it decomposes into is traced for so many of them.
constexpr int kMostExactPlans = 32;
// An operator with more kinds of calls than this has ever new shapes, and a trace costs many times what the
// CPU takes for a call: from then on a call is traced when it comes a second time.
constexpr int kManyTraces = 128;

// What a program consists of is not decomposed in its turn: a kernel that declines there leaves its operator
// to the host, and operators that decompose into each other come to an end.
constinit thread_local bool is_replaying = false;

class Replaying {
 public:
  Replaying() { is_replaying = true; }
  ~Replaying() { is_replaying = false; }
  Replaying(const Replaying&) = delete;
  Replaying& operator=(const Replaying&) = delete;
};

bool is_strided(Arguments arguments) {
  bool all = true;
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      all = all && tensor.layout() == at::kStrided && !tensor.is_quantized();
    });
  }
  return all;
}

// The call without its data: its tensors are on `meta`, and tensors that were Python numbers are numbers
// again.
torch::jit::Stack without_data(Arguments arguments) {
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  for (c10::IValue& value : stack) {
    if (const auto number = value.isTensor() ? number_in(value) : std::nullopt) {
      value = *number;
      continue;
    }
    replace_tensors(value, to_meta);
    if (value.isDevice()) value = c10::Device(c10::kMeta);
  }
  return stack;
}

// Another number that operators are not likely to tell from this one, as they do zero, one and two.
c10::Scalar another_number(const c10::Scalar& number, size_t place) {
  if (number.isIntegral(/*includeBool=*/true)) {
    const int64_t value = number.toLong();
    const auto step = static_cast<int64_t>(place) + 1;
    return value < 0 ? value - step : value + step;
  }
  const double factor = 0.75 - 0.01 * static_cast<double>(place);
  const double value = number.toDouble();
  if (value == 0) return factor;
  return std::abs(value) < 1 ? value * factor : value / factor;
}

bool is_perturbable(const c10::Scalar& number) {
  return !number.isComplex() && !number.isSymbolic() && std::isfinite(number.toDouble());
}

bool shares_storage(const at::Tensor& a, const at::Tensor& b) {
  return a.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() ==
         b.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

// Whether a result is a part of something else, or not laid out as it should be.
bool is_to_be_copied(size_t index, const Trace& trace, const torch::jit::Stack& on_meta,
                     const OutputShape& wanted) {
  const at::Tensor& result = trace.results[index];
  bool is_copied = !same_strides(wanted.sizes, result.strides(), wanted.strides) ||
                   result.storage().nbytes() != wanted.bytes;
  for (size_t i = 0; i < trace.results.size(); ++i) {
    const at::Tensor& other = trace.results[i];
    if (i != index && other.defined()) is_copied = is_copied || shares_storage(result, other);
  }
  for (const c10::IValue& value : on_meta) {
    for_each_tensor(value,
                    [&](const at::Tensor& given) { is_copied = is_copied || shares_storage(result, given); });
  }
  return is_copied;
}

}  // namespace

Decomposition::Decomposition(const OperatorFacts& facts, LedgerAccount& account)
    : facts_(facts),
      account_(account),
      has_numbers_(std::ranges::find(facts.is_number, true) != facts.is_number.end()) {
  bool is_served = facts.is_aten && facts.returns_tensors && !facts.is_random && !facts.shape_needs_data &&
                   !facts.is_view && facts.return_count > 0;
  if (facts.is_in_place || facts.is_out_form) {
    const auto functional = find_functional(facts.handle);
    if (functional) functional_.emplace(*functional);
    const size_t first = facts.is_out_form && functional ? functional_->argument_count : 0;
    for (size_t i = 0; i < facts.return_count; ++i) targets_.push_back(first + i);
    is_served = is_served && functional && !functional_->is_random &&
                facts.argument_count == functional_->argument_count + (first > 0 ? facts.return_count : 0);
  }
  is_impossible_ = !is_served;
}

bool Decomposition::can_decompose(Arguments arguments, const PlanKey& key) const {
  if (is_replaying || !is_possible() || key.has_host_tensor()) return false;
  // What such a call may do to memory it shares, the CPU says.
  if (!targets_.empty() && key.has_sharing()) return false;
  const bool is_special = facts_.refuses_determinism || facts_.has_deterministic_way;
  return !(is_special && at::globalContext().deterministicAlgorithms()) && is_strided(arguments);
}

PlanKey Decomposition::key_of(Arguments arguments, Numbers numbers) const {
  return {arguments, numbers, facts_.is_number};
}

bool Decomposition::run(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream) {
  const Arguments arguments = torch::jit::last(stack, facts_.argument_count);
  if (!can_decompose(arguments, key)) return false;
  // Numbers may decide in ways that the operator's own key has no word for.
  const bool is_coarse = has_numbers_ && facts_.numbers == Numbers::kRange;
  const PlanPtr plan = find_plan(arguments, is_coarse ? key_of(arguments, Numbers::kClass) : key, stream);
  if (plan->program == nullptr) {
    account_.explain_whole(plan->why_not);
    return false;
  }
  const Replaying replaying;
  const size_t inputs = functional_ ? functional_->argument_count : facts_.argument_count;
  finish(stack, plan->program->run(arguments.slice(0, inputs)), *plan);
  return true;
}

Decomposition::PlanPtr Decomposition::find_plan(Arguments arguments, const PlanKey& key,
                                                const Stream& stream) {
  PlanPtr plan;
  if (const Plan* known = plans_.peek(key)) {
    plan = plans_.own(*known);
  } else if (is_worth_tracing(key)) {
    plan = plans_.insert_first(key, make_plan(arguments, stream, /*is_general=*/true));
  } else {
    return refused("it has had too many shapes to trace each when it comes first");
  }
  return plan->is_exact ? find_exact_plan(arguments, *plan, stream) : plan;
}

Decomposition::PlanPtr Decomposition::find_exact_plan(Arguments arguments, const Plan& general,
                                                      const Stream& stream) {
  const PlanKey key = key_of(arguments, Numbers::kValue);
  if (const Plan* known = exact_plans_.peek(key)) return exact_plans_.own(*known);
  if (general.exact_plans.fetch_add(1, std::memory_order_relaxed) < kMostExactPlans)
    return exact_plans_.insert_first(key, make_plan(arguments, stream, /*is_general=*/false));
  return refused("its decomposition depends on numbers that change from call to call");
}

std::shared_ptr<Decomposition::Plan> Decomposition::refused(std::string why_not) {
  auto plan = std::make_shared<Plan>();
  plan->why_not = std::move(why_not);
  return plan;
}

// Where the CPU is not to take a call, every one is.
bool Decomposition::is_worth_tracing(const PlanKey& key) {
  if (traces_.fetch_add(1, std::memory_order_relaxed) < kManyTraces) return true;
  return fallback_policy() == FallbackPolicy::kError || unplanned_.has_met(key);
}

std::shared_ptr<Decomposition::Plan> Decomposition::make_plan(Arguments arguments, const Stream& stream,
                                                              bool is_general) {
  const c10::Device device(kDeviceType, stream.device());
  const OperatorFacts& functional = functional_ ? *functional_ : facts_;
  const Arguments inputs = arguments.slice(0, functional.argument_count);
  const torch::jit::Stack on_meta = without_data(inputs);
  auto plan = std::make_shared<Plan>();
  const Trace trace = tracer()(functional.handle, on_meta, device);
  if (trace.is_final) is_impossible_ = true;
  plan->why_not = trace.program == nullptr ? trace.why_not : complete(*plan, trace, on_meta, arguments);
  if (!plan->why_not.empty()) return plan;
  plan->program = trace.program;
  const auto other = is_general ? with_other_numbers(inputs, on_meta) : std::nullopt;
  if (!other) return plan;
  const Trace again = tracer()(functional.handle, *other, device);
  plan->is_exact = again.program == nullptr || !trace.program->generalize(*again.program, on_meta, *other);
  const auto is_wrapped = [](const c10::IValue& value) { return value.isTensor() && number_in(value); };
  // Of a number that is a tensor no key has the value.
  if (plan->is_exact && std::ranges::any_of(inputs, is_wrapped))
    return refused("its decomposition depends on a number that is given as a tensor");
  return plan;
}

// The call with others in place of the numbers that a plan does not tell apart; nothing if it has none.
std::optional<torch::jit::Stack> Decomposition::with_other_numbers(Arguments inputs,
                                                                   const torch::jit::Stack& on_meta) const {
  torch::jit::Stack other = on_meta;
  bool has_any = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto number = number_in(on_meta[i]);
    if (!number || !(inputs[i].isTensor() || facts_.is_number[i])) continue;
    has_any = true;
    if (is_perturbable(*number)) other[i] = another_number(*number, i);
  }
  return has_any ? std::optional(std::move(other)) : std::nullopt;
}

std::optional<CallShape> Decomposition::shape_of(const OperatorFacts& functional, Arguments inputs) {
  std::optional<CallShape> said = shape_without_running(functional, inputs);
  if (functional.is_structured) return said;
  const PlanKey kind(inputs, functional.numbers, functional.is_number, KeyOf::kKind);
  if (said && kinds_.peek(kind) != nullptr) return said;
  std::optional<CallShape> done = shape_on_zeros(functional, inputs);
  if (!done) return said;
  if (said && are_alike(said->outputs, done->outputs)) kinds_.insert(kind, std::make_shared<MetaTrust>());
  return done;
}

// Says what the outputs are like; or why the program is not that of such a call.
std::string Decomposition::complete(Plan& plan, const Trace& trace, const torch::jit::Stack& on_meta,
                                    Arguments arguments) {
  const OperatorFacts& functional = functional_ ? *functional_ : facts_;
  std::optional<CallShape> shape;
  try {
    shape = shape_of(functional, arguments.slice(0, functional.argument_count));
  } catch (const std::exception&) {
    return "PyTorch refuses such a call";  // as the CPU's kernel is about to say
  }
  if (trace.results.size() != functional.return_count) return "its decomposition has other results";
  for (size_t i = 0; i < trace.results.size(); ++i) {
    const at::Tensor& result = trace.results[i];
    OutputShape output = shape ? shape->outputs[i] : OutputShape::of(result);
    if (output.is_tensor != result.defined()) return "its decomposition has other results";
    if (output.is_tensor) {
      const bool fits = result.sizes() == output.sizes && result.scalar_type() == output.dtype;
      if (!fits || result.is_conj() || result.is_neg())
        return "its decomposition has results of other shapes or dtypes";
    }
    plan.copies.push_back(output.is_tensor && is_to_be_copied(i, trace, on_meta, output));
    if (!targets_.empty()) {
      const std::string problem = check_target(arguments[targets_[i]].toTensor(), output);
      if (!problem.empty()) return problem;
    }
    plan.outputs.push_back(std::move(output));
  }
  return "";
}

// What is to be said to a call with such an output, the CPU says.
std::string Decomposition::check_target(const at::Tensor& target, const OutputShape& output) const {
  const bool fits = output.is_tensor && target.scalar_type() == output.dtype &&
                    (facts_.is_out_form || target.sizes() == output.sizes);
  if (!fits) return "what it is to write to has another shape or dtype";
  return at::has_internal_overlap(target) == at::MemOverlap::Yes ? "what it is to write to overlaps itself"
                                                                 : "";
}

void Decomposition::finish(torch::jit::Stack& stack, std::vector<at::Tensor> results,
                           const Plan& plan) const {
  const Arguments arguments = torch::jit::last(stack, facts_.argument_count);
  for (size_t i = 0; i < results.size(); ++i) results[i] = finish_result(results[i], i, arguments, plan);
  torch::jit::drop(stack, facts_.argument_count);
  for (at::Tensor& result : results) stack.emplace_back(std::move(result));
}

at::Tensor Decomposition::finish_result(const at::Tensor& result, size_t index, Arguments arguments,
                                        const Plan& plan) const {
  const OutputShape& shape = plan.outputs[index];
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  if (!targets_.empty()) {
    const at::Tensor& target = arguments[targets_[index]].toTensor();
    if (facts_.is_out_form && at::native::resize_output(target, shape.sizes))
      target.unsafeGetTensorImpl()->set_sizes_and_strides(shape.sizes, shape.strides);
    target.copy_(result);
    return target;
  }
  if (!plan.copies[index]) return result;
  at::Tensor copy = at::empty_strided(shape.sizes, shape.strides, result.options());
  return copy.copy_(result);
}

}  // namespace torchplug::aten
