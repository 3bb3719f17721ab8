#include "aten/kernel/bound_kernel.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <algorithm>

#include "aten/kernel/call_flags.h"
#include "aten/tensor/describe.h"
#include "aten/tensor/device_tensor.h"
#include "aten/tensor/strides.h"
#include "base/dtype.h"
#include "base/immortal.h"
#include "runtime/capture.h"

namespace torchplug::aten {
namespace {

at::Tensor prepare(const at::Tensor& given, const InputPlan& plan, const Stream& stream) {
  if (plan.is_ready) return given;
  at::Tensor tensor = given.resolve_conj().resolve_neg();
  const c10::Device device(kDeviceType, stream.device());
  tensor = tensor.to(tensor.options().device(device).dtype(plan.dtype));
  if (tensor.sizes() != plan.sizes) tensor = tensor.expand(plan.sizes);
  if (plan.strides && !same_strides(plan.sizes, tensor.strides(), *plan.strides)) {
    at::Tensor copy = empty_on(stream, plan.sizes, *plan.strides, plan.dtype);
    copy.copy_(tensor);
    tensor = std::move(copy);
  }
  return tensor;
}

bool takes_arguments_as_they_are(const Binding& binding) {
  for (size_t i = 0; i < binding.argument_of.size(); ++i) {
    if (binding.argument_of[i] != i || binding.writes[i]) return false;
  }
  return binding.argument_of.size() == binding.operator_handle.schema().arguments().size() &&
         binding.results.size() == 1 && binding.results[0] == ResultKind::kTensor;
}

bool needs_room(const Binding& binding) {
  const size_t tensors = binding.argument_of.size() + binding.results.size();
  const auto is_list = [](c10::TypeKind kind) { return kind == c10::TypeKind::ListType; };
  return tensors > KernelArguments::kTensorsInPlace ||
         std::any_of(binding.types.begin(), binding.types.end(), is_list);
}

// A single number, which has no dimensions to exchange, stays as it is.
at::Tensor permuted(const at::Tensor& tensor, const std::vector<int64_t>& permutation) {
  if (permutation.empty() || !tensor.defined() || tensor.dim() == 0) return tensor;
  return tensor.permute(permutation);
}

const char* kept_text(std::string text) { return immortal<std::string>(std::move(text))->c_str(); }

KernelTarget target_of(const Binding& binding, const Module& module) {
  const c10::OperatorHandle& called = binding.operator_handle;
  return {module,
          *binding.kernel,
          kept_text(full_name(called.operator_name())),
          kept_text(c10::toString(called.schema())),
          binding.results,
          !binding.is_own()};
}

}  // namespace

BoundKernel::BoundKernel(Binding binding, const Module& module)
    : binding_(std::move(binding)),
      planner_(binding_),
      target_(target_of(binding_, module)),
      argument_count_(binding_.operator_handle.schema().arguments().size()),
      checks_arguments_(!binding_.unknown_arguments.empty() ||
                        std::find(binding_.needs_value.begin(), binding_.needs_value.end(), true) !=
                            binding_.needs_value.end()),
      multiplies_(!planner_.is_pointwise()),
      takes_all_(!checks_arguments_ && takes_arguments_as_they_are(binding_)),
      needs_room_(needs_room(binding_)) {}

Reason BoundKernel::run(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream,
                        const BoundPlan* known) {
  const Arguments arguments = torch::jit::last(stack, argument_count_);
  if (checks_arguments_) {
    if (const Reason reason = check_arguments(arguments); reason != Reason::kNone) return reason;
  }
  const std::shared_ptr<const BoundPlan> plan = find_plan(arguments, key, stream, known);
  if (plan->is_direct) return run_direct_boxed(stack, *plan, stream);
  if (plan->refusal == Reason::kNone) return run_prepared(stack, *plan, stream);
  return plan->refusal == Reason::kDeclined ? decline(plan->why) : plan->refusal;
}

bool BoundKernel::takes(Arguments arguments, const PlanKey& key, const Stream& stream) {
  if (checks_arguments_ && check_arguments(arguments) != Reason::kNone) return false;
  return find_plan(arguments, key, stream, nullptr)->refusal == Reason::kNone;
}

std::shared_ptr<const BoundPlan> BoundKernel::find_plan(Arguments arguments, const PlanKey& key,
                                                        const Stream& stream, const BoundPlan* known) {
  if (known == nullptr) known = plans_.peek(key);
  if (C10_LIKELY(known != nullptr)) return plans_.own(*known);
  std::shared_ptr<BoundPlan> plan = planner_.make(arguments, stream);
  if (key.is_deterministic()) plan->flags = PLUG_CALL_DETERMINISTIC;
  const bool is_asked = plan->refusal == Reason::kNone && !plan->is_empty;
  if (is_asked && binding_.kernel->prepare != nullptr) prepare_plan(arguments, *plan, stream);
  plan->is_direct_in_place = can_go_in_place(arguments, *plan);
  learn_kind(arguments, *plan);
  return plans_.insert_first(key, std::move(plan));
}

// Outputs that the caller gave with another size have theirs while `prepare` is asked, and come back as they
// were: only a call that is made resizes them, and warns of it.
class BoundKernel::ResizedForNow {
 public:
  ResizedForNow(const BoundKernel& kernel, Arguments arguments, const BoundPlan& plan) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const bool is_given = kernel.binding_.form == Form::kOut || kernel.binding_.form == Form::kAsCalled;
    const std::vector<size_t>& places = kernel.binding_.out_arguments;
    for (size_t i = 0; is_given && i < places.size(); ++i) {
      if (places[i] == kNoArgument || i >= plan.outputs.size() || !arguments[places[i]].isTensor()) continue;
      const at::Tensor& target = arguments[places[i]].toTensor();
      const OutputShape& shape = plan.outputs[i];
      if (!shape.is_tensor || target.sizes() == shape.sizes) continue;
      if (kernel.binding_.form == Form::kOut && kernel.is_argument(target, arguments)) continue;
      before_.push_back({target, target.sizes().vec(), target.strides().vec()});
      target.resize_(shape.sizes);
      target.unsafeGetTensorImpl()->set_sizes_and_strides(shape.sizes, shape.strides);
    }
  }
  ~ResizedForNow() {
    for (const Before& before : before_)
      before.tensor.unsafeGetTensorImpl()->set_sizes_and_strides(before.sizes, before.strides);
  }
  ResizedForNow(const ResizedForNow&) = delete;
  ResizedForNow& operator=(const ResizedForNow&) = delete;

 private:
  struct Before {
    at::Tensor tensor;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
  };
  std::vector<Before> before_;
};

void BoundKernel::prepare_plan(Arguments arguments, BoundPlan& plan, const Stream& stream) const {
  const ResizedForNow resized(*this, arguments, plan);
  Given given(stream.device());
  give(arguments, plan, stream, given);
  KernelCall call(target_, plan, stream, given.values.results());
  void* state = nullptr;
  take_plugin_error();
  const plug_status status = call.prepare(given.values.arguments(), flags_of(plan), &state);
  if (status == PLUG_UNSUPPORTED && target_.may_decline) {
    plan.refusal = Reason::kDeclined;
    plan.why = take_plugin_error();
    plan.is_direct = false;
    return;
  }
  check(status, target_.title(), stream.device());
  if (state != nullptr) {
    plan.state = std::make_shared<KernelState>(target_.module, *binding_.kernel, state, stream.device());
  }
  planner_.finish(plan, call, arguments, stream);
}

// A kernel that prepares does so for each shape.
void BoundKernel::learn_kind(Arguments arguments, const BoundPlan& plan) {
  const OperatorFacts& facts = planner_.facts();
  if (!facts.is_pointwise || !takes_all_ || !plan.is_direct || binding_.kernel->prepare != nullptr) return;
  Operands operands;
  for (const c10::IValue& value : arguments) operands.add(value);
  const c10::TensorImpl* common = operands.common();
  if (common == nullptr || !plan.outputs[0].looks_like(*common)) return;
  auto kind = std::make_shared<BoundKind>();
  kind->dtype = plan.outputs[0].dtype;
  kind->flags = plan.flags;
  kind->compute = plan.compute;
  kind->number_dtype = plan.number_dtype;
  kinds_.insert(PlanKey(arguments, facts.numbers, facts.is_number, KeyOf::kKind), std::move(kind));
}

void BoundKernel::note_unplanned(const PlanKey& key, const at::Tensor& output, const BoundKind& kind) {
  if (!unplanned_.has_met(key)) return;
  auto plan = std::make_shared<BoundPlan>();
  plan->is_direct = true;
  plan->flags = kind.flags;
  plan->compute = kind.compute;
  plan->number_dtype = kind.number_dtype;
  plan->outputs.push_back(OutputShape::of(output));
  plan->kernel_strides.emplace_back();
  plans_.insert(key, std::move(plan));
}

Reason BoundKernel::decline(const std::string& why) const {
  if (account_ != nullptr && !(is_second_ && why.empty())) account_->explain(why);
  return Reason::kDeclined;
}

uint64_t BoundKernel::flags_of(const AlikeCalls& alike) const {
  // How precise a product is does not concern operators that multiply nothing by nothing else.
  return multiplies_ ? alike.flags | precision_flags() : alike.flags;
}

// PLUG_UNSUPPORTED is remembered.
Reason BoundKernel::run_kernel(KernelCall& call, std::span<const plug_value> arguments,
                               const AlikeCalls& alike, const Stream& stream) const {
  if (any_capture() && emulates_capture(stream.device()) && alike.was_declined && is_capturing(stream)) {
    return Reason::kDeclined;
  }
  if (C10_LIKELY(call.run(arguments, flags_of(alike)) != PLUG_UNSUPPORTED)) return Reason::kNone;
  return note_declined(call, alike);
}

Reason BoundKernel::note_declined(const KernelCall& call, const AlikeCalls& alike) const {
  alike.was_declined = true;
  return decline(call.take_reason());
}

Reason BoundKernel::run_direct(std::span<const plug_value> arguments, std::span<plug_value> results,
                               const AlikeCalls& alike, const Stream& stream,
                               const at::Generator& generator) const {
  KernelCall call(target_, alike, stream, results);
  if (C10_UNLIKELY(generator.defined())) call.set_generator(generator);
  return run_kernel(call, arguments, alike, stream);
}

Reason BoundKernel::run_direct_boxed(torch::jit::Stack& stack, const BoundPlan& plan,
                                     const Stream& stream) const {
  const Arguments arguments = torch::jit::last(stack, argument_count_);
  KernelArguments given(stream.device());
  if (needs_room_) given.reserve(arguments, plan.outputs.size());
  given.convert_numbers_to(plan.number_dtype);
  for (size_t i = 0; i < binding_.argument_of.size(); ++i) {
    given.add_argument(arguments[binding_.argument_of[i]], binding_.types[i], binding_.writes[i]);
  }
  c10::SmallVector<at::Tensor, 4> outputs;
  for (const OutputShape& shape : plan.outputs) {
    outputs.push_back(empty_on(stream, shape));
    given.add_result(outputs.back());
  }
  const Reason reason = run_direct(given.arguments(), given.results(), plan, stream, given.generator());
  if (reason != Reason::kNone) return reason;
  torch::jit::drop(stack, argument_count_);
  for (at::Tensor& output : outputs) stack.emplace_back(std::move(output));
  return Reason::kNone;
}

Reason BoundKernel::run_prepared(torch::jit::Stack& stack, const BoundPlan& plan,
                                 const Stream& stream) const {
  const Arguments arguments = torch::jit::last(stack, argument_count_);
  ensure_open(stream.device());
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  Given given(stream.device());
  give(arguments, plan, stream, given);
  KernelCall call(target_, plan, stream, given.values.results());
  if (given.values.generator().defined()) call.set_generator(given.values.generator());
  if (!plan.is_empty) {
    const Reason reason = run_kernel(call, given.values.arguments(), plan, stream);
    if (reason != Reason::kNone) return reason;
  }
  if (!plan.inputs_ready) write_back(arguments, given.prepared);
  finish(stack, call, given, plan);
  return Reason::kNone;
}

// The outputs first: one that is resized is among the arguments of some kernels.
void BoundKernel::give(Arguments arguments, const BoundPlan& plan, const Stream& stream, Given& given) const {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  given.values.reserve(arguments, plan.outputs.size());
  for (size_t result = 0; result < binding_.results.size(); ++result) {
    for (size_t i = 0; i < plan.count_of(result); ++i)
      given.outputs.push_back(choose_output(result, given.outputs.size(), arguments, plan, stream));
  }
  // Borrowed sizes and strides have to outlive the call.
  for (const at::Tensor& output : given.outputs) given.shown.push_back(permuted(output, plan.permutation));
  give_arguments(arguments, plan, stream, given);
  show_prepared_results(plan, given);
  give_results(arguments, plan, given);
}

bool BoundKernel::is_returned_argument(size_t result) const {
  return binding_.form == Form::kAsCalled && binding_.out_arguments[result] != kNoArgument;
}

// A result that is an argument which had to be prepared is what the kernel was given of it.
void BoundKernel::show_prepared_results(const BoundPlan& plan, Given& given) const {
  if (plan.inputs_ready) return;
  size_t first = 0;
  for (size_t result = 0; result < binding_.results.size(); ++result) {
    if (is_returned_argument(result)) {
      const c10::IValue& argument = given.prepared[binding_.out_arguments[result]];
      if (argument.isTensor()) given.shown[first] = argument.toTensor();
    }
    first += plan.count_of(result);
  }
}

// Prepared inputs stay alive until the kernel has been enqueued; after that the stream's order does.
void BoundKernel::give_arguments(Arguments arguments, const BoundPlan& plan, const Stream& stream,
                                 Given& given) const {
  const bool as_given = plan.inputs_ready && plan.permutation.empty();
  given.values.convert_numbers_to(plan.number_dtype);
  given.prepared.reserve(binding_.argument_of.size());
  size_t next_tensor = 0;
  for (size_t i = 0; i < binding_.argument_of.size(); ++i) {
    const size_t place = binding_.argument_of[i];
    const c10::IValue* argument = &arguments[place];
    if (binding_.is_output[i]) {
      const auto result = std::find(binding_.out_arguments.begin(), binding_.out_arguments.end(), place);
      const auto index = static_cast<size_t>(result - binding_.out_arguments.begin());
      given.prepared.emplace_back(given.shown[index]);
      argument = &given.prepared.back();
      ++next_tensor;
    } else if (!as_given) {
      given.prepared.push_back(*argument);
      replace_tensors(given.prepared.back(), [&](const at::Tensor& tensor) {
        return permuted(prepare(tensor, plan.inputs[next_tensor++], stream), plan.permutation);
      });
      argument = &given.prepared.back();
    } else {
      given.prepared.emplace_back();
    }
    given.values.add_argument(*argument, binding_.types[i], binding_.writes[i] || binding_.is_output[i]);
  }
}

void BoundKernel::give_results(Arguments arguments, const BoundPlan& plan, Given& given) const {
  const c10::ArrayRef<at::Tensor> shown(given.shown);
  size_t next = 0;
  for (size_t i = 0; i < binding_.results.size(); ++i) {
    const ResultKind kind = binding_.results[i];
    const size_t count = plan.count_of(i);
    if (is_number(kind)) {
      given.values.add_number(open_number(kind, arguments));
    } else if (kind == ResultKind::kTensors && !plan.is_open) {
      given.values.add_result_list(shown.slice(next, count));
    } else {
      given.values.add_result(count == 0 ? at::Tensor() : shown[next]);
    }
    next += count;
  }
}

// What the kernel wrote of an argument that had to be prepared for it reaches the caller's tensor.
void BoundKernel::write_back(Arguments arguments, Arguments prepared) const {
  for (size_t i = 0; i < binding_.writes.size(); ++i) {
    if (!binding_.writes[i]) continue;
    c10::SmallVector<at::Tensor, 4> written;
    for_each_tensor(prepared[i], [&](const at::Tensor& tensor) { written.push_back(tensor); });
    size_t next = 0;
    for_each_tensor(arguments[binding_.argument_of[i]], [&](const at::Tensor& given) {
      const at::Tensor& tensor = written[next++];
      if (!given.is_same(tensor)) given.copy_(tensor);
    });
  }
}

Reason BoundKernel::check_arguments(Arguments arguments) const {
  for (size_t i = 0; i < binding_.argument_of.size(); ++i) {
    if (binding_.needs_value[i] && arguments[binding_.argument_of[i]].isNone()) return Reason::kArguments;
  }
  const auto& schema = binding_.operator_handle.schema();
  for (size_t place : binding_.unknown_arguments) {
    const auto& standard = schema.arguments()[place].default_value();
    if (!standard || arguments[place] != *standard) return Reason::kArguments;
  }
  return Reason::kNone;
}

// The arguments that the kernel reads.
template <class Visit>
void BoundKernel::for_each_input(Arguments arguments, Visit visit) const {
  for (size_t i = 0; i < binding_.argument_of.size(); ++i) {
    if (!binding_.is_output[i]) for_each_tensor(arguments[binding_.argument_of[i]], visit);
  }
}

// Resized as PyTorch does, if it comes with another shape.
at::Tensor BoundKernel::argument_as_output(size_t result, size_t index, Arguments arguments,
                                           const BoundPlan& plan) const {
  const at::Tensor& target = arguments[binding_.out_arguments[result]].toTensor();
  const OutputShape& shape = plan.outputs[index];
  if (shape.is_tensor && target.sizes() != shape.sizes && at::native::resize_output(target, shape.sizes))
    target.unsafeGetTensorImpl()->set_sizes_and_strides(shape.sizes, shape.strides);
  return target;
}

at::Tensor BoundKernel::choose_output(size_t result, size_t index, Arguments arguments, const BoundPlan& plan,
                                      const Stream& stream) const {
  const OutputShape& shape = plan.outputs[index];
  if (is_returned_argument(result)) return argument_as_output(result, index, arguments, plan);
  if (!shape.is_tensor) return {};
  if (binding_.form == Form::kInPlace || binding_.form == Form::kOut) {
    const at::Tensor& target = arguments[binding_.out_arguments[index]].toTensor();
    if (binding_.form == Form::kOut && !is_argument(target, arguments)) {
      if (at::native::resize_output(target, shape.sizes)) {
        target.unsafeGetTensorImpl()->set_sizes_and_strides(shape.sizes, shape.strides);
      }
    } else {
      TORCH_CHECK(target.sizes() == shape.sizes, "output with shape ", target.sizes(),
                  " doesn't match the broadcast shape ", at::IntArrayRef(shape.sizes));
    }
    at::assert_no_internal_overlap(target);
    for_each_input(arguments, [&](const at::Tensor& input) {
      if (is_on_device(input)) at::assert_no_partial_overlap(target, input);
    });
    TORCH_CHECK(c10::canCast(shape.dtype, target.scalar_type()), "result type ", c10::toString(shape.dtype),
                " can't be cast to the desired output type ", c10::toString(target.scalar_type()));
    if (can_write_into(target, index, arguments, plan)) return target;
  }
  const std::vector<int64_t>& strides = plan.strides_for_kernel(index);
  return empty_on(stream, shape.sizes, strides, shape.dtype);
}

bool BoundKernel::is_argument(const at::Tensor& target, Arguments arguments) const {
  bool found = false;
  for_each_input(arguments, [&](const at::Tensor& input) { found = found || input.is_same(target); });
  return found;
}

// Whether the kernel may write a tensor of the caller's directly: it is laid out as planned and does
// not share memory with an input, unless it is exactly that input and the kernel allows it.
bool BoundKernel::can_write_into(const at::Tensor& target, size_t index, Arguments arguments,
                                 const BoundPlan& plan) const {
  const OutputShape& shape = plan.outputs[index];
  if (target.scalar_type() != shape.dtype || target.is_conj() || target.is_neg()) return false;
  const std::vector<int64_t>& strides = plan.strides_for_kernel(index);
  const bool any_strides =
      accepts(PLUG_ACCEPTS_STRIDED) && at::has_internal_overlap(target) != at::MemOverlap::Yes;
  if (!any_strides && !same_strides(shape.sizes, target.strides(), strides)) return false;
  bool is_free = true;
  for_each_input(arguments, [&](const at::Tensor& input) {
    if (!is_on_device(input) || !input.is_alias_of(target)) return;
    const bool exact = at::get_overlap_status(input, target) == at::MemOverlapStatus::Full;
    if (!exact || !accepts(PLUG_ACCEPTS_ALIAS)) is_free = false;
  });
  return is_free;
}

// All that decides it is part of the key.
bool BoundKernel::can_go_in_place(Arguments arguments, const BoundPlan& plan) const {
  if (plan.refusal != Reason::kNone || plan.is_empty || plan.is_open || !plan.inputs_ready) return false;
  if (binding_.form != Form::kInPlace || !plan.permutation.empty() || accepts(PLUG_SHAPES_OUTPUT))
    return false;
  if (binding_.results.size() != 1 || binding_.results[0] != ResultKind::kTensor) return false;
  if (binding_.out_arguments[0] != 0 || !plan.outputs[0].is_tensor) return false;
  const at::Tensor& target = arguments[0].toTensor();
  return target.sizes() == plan.outputs[0].sizes && at::has_internal_overlap(target) != at::MemOverlap::Yes &&
         can_write_into(target, 0, arguments, plan);
}

void BoundKernel::finish(torch::jit::Stack& stack, const KernelCall& call, Given& given,
                         const BoundPlan& plan) const {
  const Arguments arguments = torch::jit::last(stack, argument_count_);
  c10::SmallVector<c10::IValue, 4> results;
  size_t first = 0;
  for (size_t i = 0; i < binding_.results.size(); ++i) {
    results.push_back(finish_result(i, first, arguments, call, given, plan));
    first += plan.count_of(i);
  }
  stack.erase(stack.end() - static_cast<std::ptrdiff_t>(argument_count_), stack.end());
  for (c10::IValue& result : results) stack.push_back(std::move(result));
}

// `first`: of the outputs that are the result's.
c10::IValue BoundKernel::finish_result(size_t result, size_t first, Arguments arguments,
                                       const KernelCall& call, Given& given, const BoundPlan& plan) const {
  const ResultKind kind = binding_.results[result];
  const plug_value& value = given.values.results()[result];
  if (is_number(kind)) return number_of(value, kind, target_.title(), result);
  if (is_numbers(kind)) return numbers_of(value, kind);
  const auto shaped = call.shaped_results(result);
  if (kind == ResultKind::kTensors) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : shaped) list.push_back(tensor);
    for (size_t i = 0; i < plan.count_of(result); ++i)
      list.push_back(finish_tensor(first + i, arguments, given.outputs[first + i], plan));
    return list;
  }
  const at::Tensor& written = shaped.empty() ? given.outputs[first] : shaped[0];
  return written.defined() ? finish_tensor(first, arguments, written, plan) : at::Tensor();
}

at::Tensor BoundKernel::finish_tensor(size_t index, Arguments arguments, const at::Tensor& written,
                                      const BoundPlan& plan) const {
  if (binding_.form == Form::kAsCalled) return written;
  if (binding_.form != Form::kFunctional) {
    const at::Tensor& target = arguments[binding_.out_arguments[index]].toTensor();
    if (accepts(PLUG_SHAPES_OUTPUT)) {
      TORCH_CHECK(target.scalar_type() == written.scalar_type(), "Expected out tensor to have dtype ",
                  written.scalar_type(), ", but got ", target.scalar_type(), " instead");
      const bool is_resized = at::native::resize_output(target, written.sizes());
      if (is_resized && written.is_non_overlapping_and_dense())  // laid out as the kernel would have it
        target.unsafeGetTensorImpl()->set_sizes_and_strides(written.sizes(), written.strides());
    }
    if (!written.is_same(target)) target.copy_(written);
    return target;
  }
  if (!plan.outputs[index].is_tensor || !plan.kernel_strides[index]) return written;
  const OutputShape& shape = plan.outputs[index];
  at::Tensor result =
      empty_on(Stream::current(written.device().index()), shape.sizes, shape.strides, shape.dtype);
  result.copy_(written);
  return result;
}

}  // namespace torchplug::aten
