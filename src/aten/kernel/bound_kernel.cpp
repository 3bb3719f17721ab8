#include "aten/kernel/bound_kernel.h"

#include <c10/util/strides.h>

#include <ATen/Context.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/enum_tag.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <torch/library.h>

#include <algorithm>

#include "aten/tensor/describe.h"
#include "aten/tensor/device_tensor.h"
#include "aten/tensor/strides.h"
#include "base/dtype.h"
#include "runtime/capture.h"

namespace torchplug::aten {
namespace {

// The dtype in which a pointwise operator computes.
at::ScalarType common_dtype(Arguments arguments, const std::vector<OutputShape>& outputs) {
  at::native::ResultTypeState state{};
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      state = at::native::update_result_type_state(tensor, state);
    });
  }
  const at::ScalarType promoted = at::native::result_type(state);
  const bool computes_in_floats = !outputs.empty() && c10::isFloatingType(outputs[0].dtype) &&
                                  c10::isIntegralType(promoted, /*includeBool=*/true);
  return computes_in_floats ? outputs[0].dtype : promoted;
}

bool is_held(const DeviceInfo& info, at::ScalarType type) {
  const auto dtype = to_plug_dtype(type);
  return dtype && info.holds(*dtype);
}

// Whether the user lets products of float32 lose precision, for all devices: by set_float32_matmul_precision
// or by torch.backends.fp32_precision. What was said for matmul decides, and of that PyTorch keeps no account
// of its own for this device; the CPU library's is the same unless it was set by name.
bool is_fast_float32_allowed(const at::Context& context) {
  using Precision = at::Float32Precision;
  const auto is_fast = [](Precision p) { return p == Precision::TF32 || p == Precision::BF16; };
  if (!is_fast(context.float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL))) return false;
  if (is_fast(context.float32Precision(at::Float32Backend::GENERIC, at::Float32Op::ALL))) return true;
  try {
    return context.float32MatmulPrecision() != at::Float32MatmulPrecision::HIGHEST;
  } catch (const c10::Error&) {
    return false;  // set by name: PyTorch does not answer for all devices then
  }
}

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
         binding.functional_handle.schema().returns().size() == 1;
}

bool needs_room(const Binding& binding) {
  const size_t tensors = binding.argument_of.size() + binding.functional_handle.schema().returns().size();
  const auto is_list = [](c10::TypeKind kind) { return kind == c10::TypeKind::ListType; };
  return tensors > KernelArguments::kTensorsInPlace ||
         std::any_of(binding.types.begin(), binding.types.end(), is_list);
}

// Whether the CPU has nothing against the dtypes of a pointwise call: asked with tensors of no elements.
bool is_taken_by_cpu(const c10::OperatorHandle& handle, Arguments arguments) {
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  for (c10::IValue& value : stack) {
    replace_tensors(value, [](const at::Tensor& tensor) {
      const at::TensorOptions options = tensor.options().device(at::kCPU);
      at::Tensor asked = tensor.dim() == 0 ? at::ones({}, options) : at::empty({0}, options);
      if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
        asked.unsafeGetTensorImpl()->set_wrapped_number(true);
      return asked;
    });
  }
  try {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
    return true;
  } catch (const c10::Error&) {
    return false;
  }
}

at::Tensor permuted(const at::Tensor& tensor, const std::vector<int64_t>& permutation) {
  if (permutation.empty() || !tensor.defined()) return tensor;
  return tensor.permute(permutation);
}

}  // namespace

BoundKernel::BoundKernel(Binding binding, const Module& module)
    : binding_(std::move(binding)),
      module_(module),
      name_(full_name(binding_.operator_handle.operator_name())),
      functional_facts_(binding_.functional_handle),
      argument_count_(binding_.operator_handle.schema().arguments().size()),
      is_pointwise_(binding_.functional_handle.hasTag(at::Tag::pointwise)),
      checks_arguments_(!binding_.unknown_arguments.empty() ||
                        std::find(binding_.needs_value.begin(), binding_.needs_value.end(), true) !=
                            binding_.needs_value.end()),
      takes_all_(!checks_arguments_ && takes_arguments_as_they_are(binding_)),
      needs_room_(needs_room(binding_)) {}

Reason BoundKernel::run(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream,
                        const BoundPlan* known) {
  const Arguments arguments = torch::jit::last(stack, argument_count_);
  if (checks_arguments_) {
    if (const Reason reason = check_arguments(arguments); reason != Reason::kNone) return reason;
  }
  if (known == nullptr) known = plans_.peek(key);
  std::shared_ptr<const BoundPlan> plan;
  if (C10_LIKELY(known != nullptr)) {
    plan = plans_.own(*known);
  } else {
    plan = make_plan(arguments, stream);
    learn_kind(arguments, *plan);
    plans_.insert(key, plan);
  }
  if (plan->is_direct) return run_direct_boxed(stack, *plan, stream);
  return plan->refusal == Reason::kNone ? run_prepared(stack, *plan, stream) : plan->refusal;
}

void BoundKernel::learn_kind(Arguments arguments, const BoundPlan& plan) {
  if (!functional_facts_.is_pointwise || !takes_all_ || !plan.is_direct) return;
  Operands operands;
  for (const c10::IValue& value : arguments) operands.add(value);
  const c10::TensorImpl* common = operands.common();
  if (common == nullptr || !plan.outputs[0].looks_like(*common)) return;
  auto kind = std::make_shared<BoundKind>();
  kind->dtype = plan.outputs[0].dtype;
  const OperatorFacts& facts = functional_facts_;
  kinds_.insert(PlanKey(arguments, facts.numbers, facts.is_number, KeyOf::kKind), std::move(kind));
}

void BoundKernel::note_unplanned(const PlanKey& key, const at::Tensor& output) {
  if (!unplanned_.has_met(key)) return;
  auto plan = std::make_shared<BoundPlan>();
  plan->is_direct = true;
  plan->outputs.push_back(OutputShape::of(output));
  plan->kernel_strides.emplace_back();
  plans_.insert(key, std::move(plan));
}

Reason BoundKernel::run_direct(std::span<const plug_value> arguments, std::span<plug_value> results,
                               Declined& declined, const Stream& stream,
                               const at::Generator& generator) const {
  KernelCall call(module_, *binding_.kernel, name_.c_str(), stream, results);
  if (C10_UNLIKELY(generator.defined())) call.set_generator(generator);
  return run_kernel(call, arguments, declined, stream);
}

// PLUG_UNSUPPORTED is remembered.
Reason BoundKernel::run_kernel(KernelCall& call, std::span<const plug_value> arguments, Declined& declined,
                               const Stream& stream) const {
  if (any_capture() && emulates_capture(stream.device()) && declined && is_capturing(stream))
    return Reason::kDeclined;
  if (C10_LIKELY(call.run(arguments, call_flags()) != PLUG_UNSUPPORTED)) return Reason::kNone;
  declined = true;
  return Reason::kDeclined;
}

uint64_t BoundKernel::call_flags() const {
  static const at::Context& context = at::globalContext();
  uint64_t flags = 0;
  if (context.deterministicAlgorithms()) flags |= PLUG_CALL_DETERMINISTIC;
  // How precise a product is does not concern operators that multiply nothing by nothing else.
  if (!is_pointwise_ && is_fast_float32_allowed(context)) flags |= PLUG_CALL_FAST_F32;
  return flags;
}

Reason BoundKernel::run_direct_boxed(torch::jit::Stack& stack, const BoundPlan& plan,
                                     const Stream& stream) const {
  const Arguments arguments = torch::jit::last(stack, argument_count_);
  KernelArguments given(stream.device());
  if (needs_room_) given.reserve(arguments, plan.outputs.size());
  for (size_t i = 0; i < binding_.argument_of.size(); ++i) {
    given.add_argument(arguments[binding_.argument_of[i]], binding_.types[i], binding_.writes[i]);
  }
  c10::SmallVector<at::Tensor, 4> outputs;
  for (const OutputShape& shape : plan.outputs) {
    outputs.push_back(empty_on(stream, shape));
    given.add_result(outputs.back());
  }
  const Reason reason =
      run_direct(given.arguments(), given.results(), plan.was_declined, stream, given.generator());
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
  KernelArguments given(stream.device());
  given.reserve(arguments, binding_.functional_handle.schema().returns().size());
  // Prepared inputs stay alive until the kernel has been enqueued; after that the stream's order does.
  c10::SmallVector<c10::IValue, 8> prepared;
  const bool as_given = plan.inputs_ready && plan.permutation.empty();
  size_t next_tensor = 0;
  for (size_t i = 0; i < binding_.argument_of.size(); ++i) {
    const c10::IValue* argument = &arguments[binding_.argument_of[i]];
    if (!as_given) {
      prepared.push_back(*argument);
      replace_tensors(prepared.back(), [&](const at::Tensor& tensor) {
        return permuted(prepare(tensor, plan.inputs[next_tensor++], stream), plan.permutation);
      });
      argument = &prepared.back();
    }
    given.add_argument(*argument, binding_.types[i], binding_.writes[i]);
  }
  const auto outputs = choose_outputs(arguments, plan, stream);
  // Borrowed sizes and strides have to outlive the call.
  c10::SmallVector<at::Tensor, 4> shown;
  for (const at::Tensor& output : outputs) {
    shown.push_back(permuted(output, plan.permutation));
    given.add_result(shown.back());
  }
  KernelCall call(module_, *binding_.kernel, name_.c_str(), stream, given.results());
  if (given.generator().defined()) call.set_generator(given.generator());
  if (!plan.is_empty) {
    const Reason reason = run_kernel(call, given.arguments(), plan.was_declined, stream);
    if (reason != Reason::kNone) return reason;
  }
  if (!plan.inputs_ready) write_back(arguments, prepared);
  finish(stack, call, given.results(), outputs, plan);
  return Reason::kNone;
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

std::shared_ptr<BoundPlan> BoundKernel::make_plan(Arguments arguments, const Stream& stream) const {
  auto plan = std::make_shared<BoundPlan>();
  const DeviceInfo& info = device_info(stream.device());
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      const auto dtype = to_plug_dtype(tensor.scalar_type());
      const bool converted =
          tensor.unsafeGetTensorImpl()->is_wrapped_number() && !accepts(PLUG_ACCEPTS_MIXED);
      if (!converted && (!dtype || !info.holds(*dtype))) plan->refusal = Reason::kInputDtype;
      if (tensor.layout() != at::kStrided) plan->refusal = Reason::kArguments;
    });
  }
  // A shape that data decide is for the kernel to find; index needs data for masks only.
  if (functional_facts_.shape_needs_data && functional_facts_.returns_tensors &&
      !accepts(PLUG_SHAPES_OUTPUT) && (!functional_facts_.takes_host_indices || has_mask(arguments))) {
    plan->refusal = Reason::kArguments;
  }
  if (plan->refusal != Reason::kNone) return plan;
  const size_t input_count = functional_facts_.argument_count;
  if (accepts(PLUG_SHAPES_OUTPUT)) {
    plan->outputs.resize(functional_facts_.return_count, OutputShape::none());
  } else {
    plan->outputs = shape_any(functional_facts_, arguments.slice(0, input_count), stream);
  }
  if (!fits_outputs(arguments, *plan)) {
    plan->refusal = Reason::kArguments;
    return plan;
  }
  plan_outputs(*plan);
  plan_inputs(arguments.slice(0, input_count), *plan);
  plan_permutation(*plan);
  for (const OutputShape& output : plan->outputs) {
    // How integers are to be read has no form in plug.h: quantized results are the CPU's.
    const bool is_quantized = c10::isQIntType(output.dtype);
    const bool is_refused = output.is_tensor && (is_quantized || !is_held(info, output.dtype));
    if (is_refused) plan->refusal = Reason::kResultDtype;
  }
  for (const InputPlan& input : plan->inputs) {
    if (!is_held(info, input.dtype)) plan->refusal = Reason::kInputDtype;
  }
  const auto has_no_elements = [](const OutputShape& output) {
    return std::find(output.sizes.begin(), output.sizes.end(), 0) != output.sizes.end();
  };
  plan->is_empty = is_pointwise_ && std::all_of(plan->outputs.begin(), plan->outputs.end(), has_no_elements);
  plan->is_direct = can_go_directly(*plan);
  return plan;
}

bool BoundKernel::can_go_directly(const BoundPlan& plan) const {
  const auto is_new = [](const OutputShape& output) { return output.is_tensor; };
  const auto is_final = [](const auto& kernel_strides) { return !kernel_strides; };
  return plan.refusal == Reason::kNone && binding_.form == Form::kFunctional && !plan.is_empty &&
         plan.inputs_ready && plan.permutation.empty() &&
         std::all_of(plan.outputs.begin(), plan.outputs.end(), is_new) &&
         std::all_of(plan.kernel_strides.begin(), plan.kernel_strides.end(), is_final);
}

// Some operators fill a tensor that overlaps itself, most refuse it; only pointwise ones cast their result to
// the dtype of an out=, and not all of them. What is to be said to such a call, the CPU says.
bool BoundKernel::fits_outputs(Arguments arguments, const BoundPlan& plan) const {
  bool is_cast = false;
  for (size_t i = 0; i < binding_.out_arguments.size(); ++i) {
    const at::Tensor& target = arguments[binding_.out_arguments[i]].toTensor();
    if (at::has_internal_overlap(target) == at::MemOverlap::Yes) return false;
    if (plan.outputs[i].is_tensor && target.scalar_type() != plan.outputs[i].dtype) is_cast = true;
  }
  if (binding_.form != Form::kOut || !is_cast) return true;
  return is_pointwise_ && is_taken_by_cpu(binding_.operator_handle, arguments);
}

// An output the kernel cannot write as it will be is written contiguous first and copied.
void BoundKernel::plan_outputs(BoundPlan& plan) const {
  for (const OutputShape& output : plan.outputs) {
    std::optional<std::vector<int64_t>> strides;
    const bool dense = is_dense(output.sizes, output.strides);
    const bool as_is =
        accepts(PLUG_ACCEPTS_STRIDED) ||
        (dense && (accepts(PLUG_ACCEPTS_DENSE) || (is_pointwise_ && !accepts(PLUG_ACCEPTS_BROADCAST))));
    const auto contiguous = c10::contiguous_strides(output.sizes);
    if (!as_is && !same_strides(output.sizes, output.strides, contiguous)) {
      strides = c10::IntArrayRef(contiguous).vec();
    }
    plan.kernel_strides.push_back(std::move(strides));
  }
}

void BoundKernel::plan_inputs(Arguments arguments, BoundPlan& plan) const {
  const bool pointwise = is_pointwise_ && !plan.outputs.empty() && plan.outputs[0].is_tensor;
  const at::ScalarType common = pointwise ? common_dtype(arguments, plan.outputs) : at::ScalarType::Undefined;
  for (size_t place : binding_.argument_of) {
    for_each_tensor(arguments[place], [&](const at::Tensor& tensor) {
      InputPlan input{true, tensor.scalar_type(), tensor.sizes().vec(), std::nullopt};
      if (pointwise && !accepts(PLUG_ACCEPTS_MIXED)) input.dtype = common;
      if (pointwise && !accepts(PLUG_ACCEPTS_BROADCAST)) input.sizes = plan.outputs[0].sizes;
      const bool is_host_scalar = !is_on_device(tensor);
      if (!accepts(PLUG_ACCEPTS_STRIDED)) {
        const bool keeps_order =
            accepts(PLUG_ACCEPTS_DENSE) && !pointwise && tensor.is_non_overlapping_and_dense();
        const bool like_output = pointwise && input.sizes == plan.outputs[0].sizes && !plan.kernel_strides[0];
        if (like_output) {
          input.strides = plan.outputs[0].strides;
        } else if (!keeps_order) {
          input.strides = c10::IntArrayRef(c10::contiguous_strides(input.sizes)).vec();
        }
      }
      const bool bits = (tensor.is_conj() || tensor.is_neg()) && !accepts(PLUG_ACCEPTS_LAZY_BITS);
      const bool placed = !is_host_scalar || accepts(PLUG_ACCEPTS_HOST_SCALAR);
      input.is_ready = placed && !bits && input.dtype == tensor.scalar_type() &&
                       tensor.sizes() == input.sizes &&
                       (!input.strides || same_strides(input.sizes, tensor.strides(), *input.strides));
      plan.inputs_ready = plan.inputs_ready && input.is_ready;
      plan.inputs.push_back(std::move(input));
    });
  }
}

// All tensors of the call then have the output's strides: the same order of dimensions makes all of
// them contiguous, and a pointwise kernel cannot tell.
void BoundKernel::plan_permutation(BoundPlan& plan) const {
  const bool wanted = is_pointwise_ && !accepts(PLUG_ACCEPTS_STRIDED) && !accepts(PLUG_ACCEPTS_DENSE) &&
                      !accepts(PLUG_ACCEPTS_BROADCAST) && !plan.outputs.empty() &&
                      plan.outputs[0].is_tensor && !plan.kernel_strides[0];
  if (!wanted) return;
  const OutputShape& output = plan.outputs[0];
  if (same_strides(output.sizes, output.strides, c10::contiguous_strides(output.sizes))) return;
  plan.permutation = contiguous_order(output.strides);
}

c10::SmallVector<at::Tensor, 4> BoundKernel::choose_outputs(Arguments arguments, const BoundPlan& plan,
                                                            const Stream& stream) const {
  c10::SmallVector<at::Tensor, 4> outputs;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    outputs.push_back(plan.outputs[i].is_tensor ? choose_output(i, arguments, plan, stream) : at::Tensor());
  }
  return outputs;
}

at::Tensor BoundKernel::choose_output(size_t index, Arguments arguments, const BoundPlan& plan,
                                      const Stream& stream) const {
  const OutputShape& shape = plan.outputs[index];
  if (binding_.form != Form::kFunctional) {
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
    for (size_t place : binding_.argument_of) {
      for_each_tensor(arguments[place], [&](const at::Tensor& input) {
        if (is_on_device(input)) at::assert_no_partial_overlap(target, input);
      });
    }
    TORCH_CHECK(c10::canCast(shape.dtype, target.scalar_type()), "result type ", c10::toString(shape.dtype),
                " can't be cast to the desired output type ", c10::toString(target.scalar_type()));
    if (can_write_into(target, index, arguments, plan)) return target;
  }
  const std::vector<int64_t>& strides = plan.strides_for_kernel(index);
  return empty_on(stream, shape.sizes, strides, shape.dtype);
}

bool BoundKernel::is_argument(const at::Tensor& target, Arguments arguments) const {
  return std::any_of(binding_.argument_of.begin(), binding_.argument_of.end(), [&](size_t place) {
    return arguments[place].isTensor() && arguments[place].toTensor().is_same(target);
  });
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
  for (size_t place : binding_.argument_of) {
    for_each_tensor(arguments[place], [&](const at::Tensor& input) {
      if (!is_on_device(input) || !input.is_alias_of(target)) return;
      const bool exact = at::get_overlap_status(input, target) == at::MemOverlapStatus::Full;
      if (!exact || !accepts(PLUG_ACCEPTS_ALIAS)) is_free = false;
    });
  }
  return is_free;
}

void BoundKernel::finish(torch::jit::Stack& stack, const KernelCall& call, std::span<const plug_value> values,
                         c10::ArrayRef<at::Tensor> outputs, const BoundPlan& plan) const {
  const Arguments arguments = torch::jit::last(stack, argument_count_);
  c10::SmallVector<c10::IValue, 4> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor written = outputs[i].defined() ? outputs[i] : call.shaped_result(i);
    results.push_back(written.defined() ? c10::IValue(finish_tensor(i, arguments, written, plan))
                                        : finish_number(i, values[i]));
  }
  stack.erase(stack.end() - static_cast<std::ptrdiff_t>(argument_count_), stack.end());
  for (c10::IValue& result : results) stack.push_back(std::move(result));
}

c10::IValue BoundKernel::finish_number(size_t index, const plug_value& value) const {
  switch (value.tag) {
    case PLUG_VALUE_BOOL: return value.as.i != 0;
    case PLUG_VALUE_INT: return value.as.i;
    case PLUG_VALUE_FLOAT: return value.as.f;
    case PLUG_NONE: return at::Tensor();
    default:
      TORCH_CHECK(false, "Kernel ", binding_.kernel->schema, " set result ", index, " to tag ", value.tag,
                  ", which is not a number's. Use PLUG_VALUE_BOOL, PLUG_VALUE_INT or PLUG_VALUE_FLOAT.");
  }
}

at::Tensor BoundKernel::finish_tensor(size_t index, Arguments arguments, const at::Tensor& written,
                                      const BoundPlan& plan) const {
  if (binding_.form != Form::kFunctional) {
    const at::Tensor& target = arguments[binding_.out_arguments[index]].toTensor();
    if (accepts(PLUG_SHAPES_OUTPUT)) {
      TORCH_CHECK(target.scalar_type() == written.scalar_type(), "Expected out tensor to have dtype ",
                  written.scalar_type(), ", but got ", target.scalar_type(), " instead");
      at::native::resize_output(target, written.sizes());
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
