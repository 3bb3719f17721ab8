#include "aten/kernel/bound_plan.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/enum_tag.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/ones.h>
#include <c10/core/DefaultDtype.h>
#include <c10/util/strides.h>
#include <torch/library.h>

#include <algorithm>
#include <string_view>

#include "aten/kernel/served_operators.h"
#include "aten/tensor/strides.h"
#include "base/dtype.h"

namespace torchplug::aten {
namespace {

using at::native::ResultTypeState;

// What Scalars that are operands are called; others (alpha, value, negative_slope) follow the tensors' dtype.
constexpr std::string_view kOperands[] = {"other", "exponent", "self", "min", "max"};

bool is_operand(const c10::Argument& argument) {
  return without_optional(argument.type())->kind() == c10::TypeKind::NumberType &&
         std::find(std::begin(kOperands), std::end(kOperands), argument.name()) != std::end(kOperands);
}

std::vector<bool> find_operands(const c10::FunctionSchema& schema) {
  std::vector<bool> found;
  for (const c10::Argument& argument : schema.arguments()) found.push_back(is_operand(argument));
  return found;
}

// As update_result_type_state does for the tensor that a Python number becomes.
void promote_number(const c10::Scalar& number, ResultTypeState& state) {
  at::ScalarType type = number.type();
  if (c10::isComplexType(type)) {
    type = c10::typeMetaToScalarType(c10::get_default_complex_dtype());
  } else if (c10::isFloatingType(type)) {
    type = c10::get_default_dtype_as_scalartype();
  }
  const bool is_first = state.wrappedResult == at::ScalarType::Undefined;
  state.wrappedResult = is_first ? type : c10::promoteTypes(state.wrappedResult, type);
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

bool makes_tensors(const Binding& binding) {
  for (size_t i = 0; i < binding.results.size(); ++i) {
    const bool is_argument = binding.form == Form::kAsCalled && binding.out_arguments[i] != kNoArgument;
    if (is_tensors(binding.results[i]) && !is_argument) return true;
  }
  return false;
}

// Of an operator with one result.
void restride(CallShape& shape, const std::vector<int64_t>& strides) {
  if (shape.outputs.size() != 1 || shape.outputs[0].sizes.size() != strides.size()) return;
  const OutputShape& before = shape.outputs[0];
  const auto options = at::TensorOptions(at::kMeta).dtype(before.dtype);
  shape.outputs[0] = OutputShape::of(at::empty_strided(before.sizes, strides, options));
}

// Whether an output that the caller gives is an input too.
bool is_read(const at::Tensor& target, Arguments arguments) {
  int found = 0;
  for (const c10::IValue& value : arguments)
    for_each_tensor(value, [&](const at::Tensor& tensor) { found += tensor.is_same(target) ? 1 : 0; });
  return found > 1;
}

bool is_contiguous(const OutputShape& output) {
  return same_strides(output.sizes, output.strides, c10::contiguous_strides(output.sizes));
}

}  // namespace

BoundPlanner::BoundPlanner(const Binding& binding)
    : binding_(binding),
      facts_(binding.functional_handle),
      is_pointwise_(binding.functional_handle.hasTag(at::Tag::pointwise)),
      makes_tensors_(makes_tensors(binding)),
      promotes_(find_operands(binding.functional_handle.schema())) {}

std::shared_ptr<BoundPlan> BoundPlanner::make(Arguments arguments, const Stream& stream) const {
  auto plan = std::make_shared<BoundPlan>();
  if (binding_.is_own()) {
    plan_own(arguments, stream, *plan);
    return plan;
  }
  const Arguments inputs = arguments.slice(0, facts_.argument_count);
  check_inputs(arguments, stream, *plan);
  if (plan->refusal == Reason::kNone) shape_outputs(inputs, stream, *plan);
  if (plan->refusal == Reason::kNone && !fits_outputs(arguments, *plan)) plan->refusal = Reason::kArguments;
  if (plan->refusal != Reason::kNone) return plan;
  plan_outputs(*plan);
  plan_inputs(inputs, stream, *plan);
  plan_permutation(*plan);
  check_dtypes(stream, *plan);
  const auto has_no_elements = [](const OutputShape& output) {
    return std::find(output.sizes.begin(), output.sizes.end(), 0) != output.sizes.end();
  };
  plan->is_empty = is_pointwise_ && !plan->outputs.empty() &&
                   std::all_of(plan->outputs.begin(), plan->outputs.end(), has_no_elements);
  plan->is_direct = can_go_directly(*plan);
  return plan;
}

void BoundPlanner::plan_own(Arguments arguments, const Stream& stream, BoundPlan& plan) const {
  CallShape shape = binding_.own_shape(arguments);
  plan.outputs = std::move(shape.outputs);
  plan.counts = std::move(shape.counts);
  plan.is_open = accepts(PLUG_SHAPES_OUTPUT);
  plan_outputs(plan);
  plan_inputs(arguments, stream, plan);
  plan.is_direct = can_go_directly(plan);
}

void BoundPlanner::finish(BoundPlan& plan, const KernelCall& prepared, Arguments arguments,
                          const Stream& stream) const {
  if (!plan.is_open) return;
  std::vector<OutputShape> outputs;
  std::vector<size_t> counts;
  bool has_shaped = false;
  for (size_t i = 0; i < binding_.results.size(); ++i) {
    const auto shaped = prepared.shaped_results(i);
    for (const at::Tensor& tensor : shaped) outputs.push_back(OutputShape::of(tensor));
    has_shaped = has_shaped || !shaped.empty();
    const bool is_list = binding_.results[i] == ResultKind::kTensors;
    if (shaped.empty() && !is_list) outputs.push_back(OutputShape::none());
    counts.push_back(is_list ? shaped.size() : 1);
  }
  if (accepts(PLUG_SHAPES_OUTPUT) && !has_shaped) return;
  plan.is_open = false;
  if (has_shaped) {
    plan.outputs = std::move(outputs);
    plan.counts = std::move(counts);
  } else if (binding_.is_any) {
    plan.refusal = Reason::kUnshaped;
    return;
  } else {
    CallShape shape = shape_any(facts_, arguments.slice(0, facts_.argument_count), stream);
    plan.outputs = std::move(shape.outputs);
    plan.counts = std::move(shape.counts);
  }
  // What the plugin has shaped, it writes as it is.
  plan.kernel_strides.clear();
  if (has_shaped) {
    plan.kernel_strides.resize(plan.outputs.size());
  } else {
    plan_outputs(plan);
  }
  plan.is_direct = can_go_directly(plan);
}

// The device's dtypes are not asked of for an operator of the plugin's own.
bool BoundPlanner::holds(const Stream& stream, at::ScalarType type) const {
  const plug_kernel& kernel = *binding_.kernel;
  if (kernel.dtypes == nullptr && binding_.is_own()) return to_plug_dtype(type).has_value();
  return takes_dtype(kernel, stream.device(), type);
}

void BoundPlanner::refuse(BoundPlan& plan, bool is_input) const {
  if (binding_.kernel->dtypes == nullptr) {
    plan.refusal = is_input ? Reason::kInputDtype : Reason::kResultDtype;
  } else {
    plan.refusal = is_input ? Reason::kKernelInputDtype : Reason::kKernelResultDtype;
  }
}

// A number on the host that the kernel reads there, converted if need be.
bool BoundPlanner::is_kept_as_number(const at::Tensor& tensor) const {
  const bool has_bits = tensor.is_conj() || tensor.is_neg();
  return accepts(PLUG_ACCEPTS_HOST_SCALAR) && !is_on_device(tensor) && tensor.dim() == 0 &&
         (!has_bits || accepts(PLUG_ACCEPTS_LAZY_BITS));
}

void BoundPlanner::check_inputs(Arguments arguments, const Stream& stream, BoundPlan& plan) const {
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      const bool is_wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
      const bool is_converted = (is_wrapped && !accepts(PLUG_ACCEPTS_MIXED)) ||
                                ((is_pointwise_ || binding_.is_any) && is_kept_as_number(tensor));
      if (!is_converted && !holds(stream, tensor.scalar_type())) refuse(plan, /*is_input=*/true);
      const bool is_plain = tensor.layout() == at::kStrided && !tensor.is_quantized();
      const bool is_host_tensor = binding_.is_any && !is_on_device(tensor) && tensor.dim() > 0;
      if (!is_plain || is_host_tensor) plan.refusal = Reason::kArguments;
    });
  }
  const bool gives_scalar =
      std::ranges::find(binding_.results, ResultKind::kScalar) != binding_.results.end();
  if (gives_scalar && !arguments.empty() && arguments[0].isTensor() && arguments[0].toTensor().is_complex())
    plan.refusal = Reason::kArguments;
  // A shape that data decide is for the kernel to find; index needs data for masks only.
  if (facts_.shape_needs_data && facts_.returns_tensors && !accepts(PLUG_SHAPES_OUTPUT) &&
      (!facts_.takes_host_indices || has_mask(arguments))) {
    plan.refusal = Reason::kArguments;
  }
}

void BoundPlanner::leave_open(BoundPlan& plan) const {
  plan.is_open = true;
  plan.outputs.clear();
  plan.counts.clear();
  for (const ResultKind kind : binding_.results) {
    const bool is_list = kind == ResultKind::kTensors;
    if (!is_list) plan.outputs.push_back(OutputShape::none());
    plan.counts.push_back(is_list ? 0 : 1);
  }
}

// By PyTorch, as far as it can tell; the rest the plugin shapes, in `prepare` or, if it said so, in the
// kernel; and for a kernel of the list that does neither, a run of the CPU's tells.
void BoundPlanner::shape_outputs(Arguments arguments, const Stream& stream, BoundPlan& plan) const {
  const bool shapes_itself = accepts(PLUG_SHAPES_OUTPUT);
  const bool has_tensors = std::ranges::any_of(binding_.results, is_tensors);
  if (!has_tensors || (shapes_itself && (!binding_.is_any || facts_.shape_needs_data))) {
    leave_open(plan);
    plan.is_open = shapes_itself && has_tensors;
    return;
  }
  std::optional<CallShape> shape = ask_pytorch(arguments, stream, plan);
  if (shape) {
    plan.outputs = std::move(shape->outputs);
    plan.counts = std::move(shape->counts);
    return;
  }
  leave_open(plan);
  plan.is_open = makes_tensors_;
  const bool may_shape = shapes_itself || binding_.kernel->prepare != nullptr;
  if (plan.is_open && !may_shape && plan.refusal == Reason::kNone) plan.refusal = Reason::kUnshaped;
}

// PyTorch's meta kernels of out forms make what they resize contiguous. What the CPU makes of it, and in
// which dtype it computes, the functional form says.
const OperatorFacts& BoundPlanner::facts_of_shape() const {
  if (!binding_.is_any || !facts_.is_out_form) return facts_;
  std::call_once(functional_looked_for_, [&] {
    const auto functional = find_functional(facts_.handle);
    if (!functional) return;
    OperatorFacts found(*functional);
    if (found.is_structured || found.is_pointwise) functional_facts_.emplace(std::move(found));
  });
  return functional_facts_ ? *functional_facts_ : facts_;
}

// What its meta kernels refuse, and whatever it refuses of a call for the kernel `any`, the next way says.
std::optional<CallShape> BoundPlanner::ask_pytorch(Arguments arguments, const Stream& stream,
                                                   BoundPlan& plan) const {
  try {
    if (!binding_.is_any && binding_.kernel->prepare == nullptr) return shape_any(facts_, arguments, stream);
    const OperatorFacts& facts = facts_of_shape();
    const Arguments inputs = arguments.slice(0, facts.argument_count);
    auto shape = shape_without_running(facts, inputs);
    if (shape && &facts != &facts_ && !facts.is_structured) restride(*shape, iterated_strides(inputs));
    return shape;
  } catch (const std::exception&) {
    if (!binding_.is_any && facts_.is_structured) throw;
    plan.refusal = Reason::kArguments;
    return std::nullopt;
  }
}

// Some operators fill a tensor that overlaps itself, most refuse it; only pointwise ones cast their result to
// the dtype of an out=, and not all of them. What is to be said to such a call, the CPU says.
bool BoundPlanner::fits_outputs(Arguments arguments, const BoundPlan& plan) const {
  bool is_cast = false;
  for (size_t i = 0; i < binding_.out_arguments.size(); ++i) {
    if (binding_.out_arguments[i] == kNoArgument) continue;
    if (!arguments[binding_.out_arguments[i]].isTensor()) continue;
    const at::Tensor& target = arguments[binding_.out_arguments[i]].toTensor();
    if (at::has_internal_overlap(target) == at::MemOverlap::Yes) return false;
    if (!plan.outputs[i].is_tensor) continue;
    if (target.scalar_type() != plan.outputs[i].dtype) is_cast = true;
    if (binding_.is_any && target.sizes() != plan.outputs[i].sizes && is_read(target, arguments))
      return false;
  }
  const bool is_given_output = binding_.form == Form::kOut || (binding_.is_any && facts_.is_out_form);
  if (!is_given_output || !is_cast) return true;
  return is_pointwise_ && is_taken_by_cpu(binding_.operator_handle, arguments);
}

// An output the kernel cannot write as it will be is written contiguous first and copied.
void BoundPlanner::plan_outputs(BoundPlan& plan) const {
  for (const OutputShape& output : plan.outputs) {
    std::optional<std::vector<int64_t>> strides;
    const bool dense = is_dense(output.sizes, output.strides);
    const bool as_is =
        accepts(PLUG_ACCEPTS_STRIDED) ||
        (dense && (accepts(PLUG_ACCEPTS_DENSE) || (is_pointwise_ && !accepts(PLUG_ACCEPTS_BROADCAST))));
    if (!as_is && !is_contiguous(output))
      strides = c10::IntArrayRef(c10::contiguous_strides(output.sizes)).vec();
    plan.kernel_strides.push_back(std::move(strides));
  }
}

at::ScalarType BoundPlanner::compute_dtype(Arguments arguments, const BoundPlan& plan) const {
  ResultTypeState state{};
  for (size_t i = 0; i < arguments.size(); ++i) {
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      state = at::native::update_result_type_state(tensor, state);
    });
    if (promotes_[i] && (arguments[i].isScalar() || arguments[i].isUnsigned()))
      promote_number(arguments[i].toScalar(), state);
  }
  const at::ScalarType promoted = at::native::result_type(state);
  const bool computes_in_floats = !plan.outputs.empty() && plan.outputs[0].is_tensor &&
                                  c10::isFloatingType(plan.outputs[0].dtype) &&
                                  c10::isIntegralType(promoted, /*includeBool=*/true);
  return computes_in_floats ? plan.outputs[0].dtype : promoted;
}

void BoundPlanner::plan_inputs(Arguments arguments, const Stream& stream, BoundPlan& plan) const {
  const at::ScalarType common = is_pointwise_ ? compute_dtype(arguments, plan) : at::ScalarType::Undefined;
  if (is_pointwise_) plan.compute = to_plug_dtype(common).value_or(0);
  for (size_t i = 0; i < binding_.argument_of.size(); ++i) {
    for_each_tensor(arguments[binding_.argument_of[i]], [&](const at::Tensor& tensor) {
      InputPlan input = plan_input(tensor, common, plan);
      if (binding_.is_output[i]) input.is_ready = true;
      if (is_pointwise_ && is_kept_as_number(tensor) && !binding_.is_any) {
        const bool is_converted = !accepts(PLUG_ACCEPTS_MIXED) || !holds(stream, tensor.scalar_type());
        if (is_converted) {
          plan.number_dtype = plan.compute;
          input.dtype = common;
        }
      }
      plan.inputs_ready = plan.inputs_ready && input.is_ready;
      plan.inputs.push_back(std::move(input));
    });
  }
}

InputPlan BoundPlanner::plan_input(const at::Tensor& tensor, at::ScalarType common,
                                   const BoundPlan& plan) const {
  InputPlan input{true, tensor.scalar_type(), tensor.sizes().vec(), std::nullopt};
  if (is_kept_as_number(tensor)) return input;
  const bool pointwise = is_pointwise_ && !plan.outputs.empty() && plan.outputs[0].is_tensor;
  if (pointwise && !accepts(PLUG_ACCEPTS_MIXED)) input.dtype = common;
  if (pointwise && !accepts(PLUG_ACCEPTS_BROADCAST)) input.sizes = plan.outputs[0].sizes;
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
  const bool has_bits = (tensor.is_conj() || tensor.is_neg()) && !accepts(PLUG_ACCEPTS_LAZY_BITS);
  const bool is_looked_for = !input.strides || same_strides(input.sizes, tensor.strides(), *input.strides);
  input.is_ready = is_on_device(tensor) && !has_bits && input.dtype == tensor.scalar_type() &&
                   tensor.sizes() == input.sizes && is_looked_for;
  return input;
}

// All tensors of the call then have the output's strides: the same order of dimensions makes all of
// them contiguous, and a pointwise kernel cannot tell.
void BoundPlanner::plan_permutation(BoundPlan& plan) const {
  const bool wanted = is_pointwise_ && !accepts(PLUG_ACCEPTS_STRIDED) && !accepts(PLUG_ACCEPTS_DENSE) &&
                      !accepts(PLUG_ACCEPTS_BROADCAST) && !plan.outputs.empty() &&
                      plan.outputs[0].is_tensor && !plan.kernel_strides[0];
  if (!wanted || is_contiguous(plan.outputs[0])) return;
  plan.permutation = contiguous_order(plan.outputs[0].strides);
}

void BoundPlanner::check_dtypes(const Stream& stream, BoundPlan& plan) const {
  for (const OutputShape& output : plan.outputs) {
    // How integers are to be read has no form in plug.h: quantized results are the CPU's.
    const bool is_taken = !c10::isQIntType(output.dtype) && holds(stream, output.dtype);
    if (output.is_tensor && !is_taken) refuse(plan, /*is_input=*/false);
  }
  if (binding_.is_any) return;
  for (const InputPlan& input : plan.inputs) {
    if (!holds(stream, input.dtype)) refuse(plan, /*is_input=*/true);
  }
}

bool BoundPlanner::can_go_directly(const BoundPlan& plan) const {
  const auto is_new = [](const OutputShape& output) { return output.is_tensor; };
  const auto is_final = [](const auto& kernel_strides) { return !kernel_strides; };
  const auto is_tensor = [](ResultKind kind) { return kind == ResultKind::kTensor; };
  return plan.refusal == Reason::kNone && binding_.form == Form::kFunctional && !plan.is_empty &&
         plan.inputs_ready && plan.permutation.empty() &&
         std::all_of(binding_.results.begin(), binding_.results.end(), is_tensor) &&
         std::all_of(plan.outputs.begin(), plan.outputs.end(), is_new) &&
         std::all_of(plan.kernel_strides.begin(), plan.kernel_strides.end(), is_final);
}

}  // namespace torchplug::aten
