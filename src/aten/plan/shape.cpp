#include "aten/plan/shape.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/clamp_min_ops.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <utility>

#include "aten/host/host_scope.h"
#include "aten/host/loan.h"
#include "runtime/capture.h"

namespace torchplug::aten {
namespace {

constinit thread_local bool shaping = false;

CallShape shapes_of(Arguments results) {
  CallShape shape;
  for (const c10::IValue& value : results) {
    const size_t before = shape.outputs.size();
    if (is_list_of_tensors(value)) {
      for (const at::Tensor& tensor : value.toTensorVector())
        shape.outputs.push_back(OutputShape::of(tensor));
    } else {
      shape.outputs.push_back(value.isTensor() ? OutputShape::of(value.toTensor()) : OutputShape::none());
    }
    shape.counts.push_back(shape.outputs.size() - before);
  }
  return shape;
}

CallShape shape_by_meta(const OperatorFacts& facts, Arguments arguments) {
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  for (c10::IValue& value : stack) {
    replace_tensors(value, to_meta);
    if (value.isDevice()) value = c10::Device(c10::kMeta);
  }
  facts.handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
  return shapes_of(stack);
}

// relu's meta kernel is Python, whose first call imports PyTorch's compiler: seconds. The CPU's kernel is
// clamp_min, which is structured.
bool is_clamp(const OperatorFacts& facts, Arguments arguments) {
  return facts.handle.operator_name().name == "aten::relu" &&
         arguments.front().toTensor().scalar_type() != at::kBool;
}

CallShape shape_clamp(const at::Tensor& self) {
  const ShapingScope scope;
  return {{OutputShape::of(at::_ops::clamp_min::redispatch(kShapeKey, self, 0))}, {1}};
}

// PyTorch 2.11 has no meta kernel for it.
bool is_attention_backward(const OperatorFacts& facts) {
  return facts.name == "aten::_scaled_dot_product_fused_attention_overrideable_backward";
}

// Gradients look like what they are for.
CallShape shape_attention_backward(Arguments arguments) {
  CallShape shape;
  const auto wanted = arguments[5].toBoolList();
  for (size_t i = 0; i < 4; ++i) {
    const c10::IValue& given = arguments[i + 1];
    const bool is_wanted = wanted[i] && given.isTensor() && given.toTensor().defined();
    shape.outputs.push_back(is_wanted ? OutputShape::of(at::empty_like(to_meta(given.toTensor())))
                                      : OutputShape::none());
    shape.counts.push_back(1);
  }
  return shape;
}

CallShape shape_by_running(const OperatorFacts& facts, Arguments arguments, const Stream& stream) {
  refuse_unplanned(stream, facts.name);
  // Copies, so that nothing an operator may write comes back.
  Loan copies(LoanKind::kStage, stream);
  copies.add_all(arguments, facts.writes, facts.overwrites);
  copies.open();
  torch::jit::Stack stack = copies.host_arguments(arguments);
  for (size_t i = 0; i < stack.size(); ++i) {
    if (stack[i].isDevice()) stack[i] = c10::Device(c10::kCPU);
    // Numbers nobody will see, from a generator nobody else has.
    if (facts.handle.schema().arguments()[i].name() == "generator")
      stack[i] = at::make_generator<at::CPUGeneratorImpl>();
  }
  facts.handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  return shapes_of(stack);
}

// Results without elements: PyTorch's meta kernels give them other strides than the CPU's, which cost
// nothing.
bool are_empty(const CallShape& shape) {
  const auto is_empty = [](const OutputShape& output) { return output.is_tensor && output.bytes == 0; };
  return !shape.outputs.empty() && std::ranges::all_of(shape.outputs, is_empty);
}

bool has_cpu_kernel(const OperatorFacts& facts) {
  return facts.handle.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU);
}

}  // namespace

at::Tensor to_meta(const at::Tensor& tensor) {
  at::Tensor meta = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
  if (tensor.is_conj()) meta._set_conj(true);
  if (tensor.is_neg()) meta._set_neg(true);
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) meta.unsafeGetTensorImpl()->set_wrapped_number(true);
  return meta;
}

OutputShape OutputShape::of(const at::Tensor& tensor) {
  if (!tensor.defined()) return none();
  const size_t bytes = at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize());
  auto prototype =
      c10::make_intrusive<DeviceTensorImpl>(tensor.scalar_type(), tensor.sizes(), tensor.strides());
  return {true,  tensor.scalar_type(), tensor.sizes().vec(), tensor.strides().vec(),
          bytes, std::move(prototype)};
}

OutputShape OutputShape::none() {
  OutputShape shape;
  shape.is_tensor = false;
  return shape;
}

// PyTorch gives every backend that has no kernel of its own for a structured operator a composite one: shape
// function, at::empty_strided for the results, then the out form, which is ours again. kShapeKey is that of a
// backend that nobody uses.
ShapingScope::ShapingScope() : before_(std::exchange(shaping, true)) {
  if (at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION)) unseen_.emplace();
}

ShapingScope::~ShapingScope() { shaping = before_; }

torch::jit::Stack shape_structured(const OperatorFacts& facts, Arguments arguments) {
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  const ShapingScope scope;
  facts.handle.redispatchBoxed(kShapeKey, &stack);
  return stack;
}

CallShape shape_any(const OperatorFacts& facts, Arguments arguments, const Stream& stream) {
  if (facts.is_structured) return shapes_of(shape_structured(facts, arguments));
  if (is_clamp(facts, arguments)) return shape_clamp(arguments.front().toTensor());
  if (is_attention_backward(facts)) return shape_attention_backward(arguments);
  const at::DisableRecordFunctionGuard unseen;
  const HostScope scope;
  try {
    CallShape shape = shape_by_meta(facts, arguments);
    if (C10_LIKELY(!are_empty(shape)) || is_capturing(stream) || !has_cpu_kernel(facts)) return shape;
    return shape_by_running(facts, arguments, stream);
  } catch (const c10::NotImplementedError&) {
    return shape_by_running(facts, arguments, stream);
  }
}

std::optional<CallShape> shape_without_running(const OperatorFacts& facts, Arguments arguments) {
  if (facts.is_structured) return shapes_of(shape_structured(facts, arguments));
  if (is_clamp(facts, arguments)) return shape_clamp(arguments.front().toTensor());
  if (is_attention_backward(facts)) return shape_attention_backward(arguments);
  const at::DisableRecordFunctionGuard unseen;
  const HostScope scope;
  try {
    return shape_by_meta(facts, arguments);
  } catch (const c10::NotImplementedError&) {
    return std::nullopt;
  }
}

std::vector<int64_t> iterated_strides(Arguments arguments) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).check_all_same_dtype(false).check_all_same_device(false);
  config.declare_static_dtype_and_device(at::kByte, at::kMeta).add_owned_output(at::Tensor());
  for (const c10::IValue& value : arguments)
    for_each_tensor(value, [&](const at::Tensor& tensor) { config.add_owned_const_input(to_meta(tensor)); });
  return config.build().output().strides().vec();
}

bool is_shaping() { return shaping; }

}  // namespace torchplug::aten
