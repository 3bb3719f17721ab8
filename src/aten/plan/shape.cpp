#include "aten/plan/shape.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty_strided.h>

#include <utility>

#include "aten/host/host_scope.h"
#include "aten/host/loan.h"
#include "runtime/capture.h"

namespace torchplug::aten {
namespace {

constinit thread_local bool shaping = false;

std::vector<OutputShape> shapes_of(Arguments results) {
  std::vector<OutputShape> shapes;
  for (const c10::IValue& value : results) {
    shapes.push_back(value.isTensor() ? OutputShape::of(value.toTensor()) : OutputShape::none());
  }
  return shapes;
}

at::Tensor to_meta(const at::Tensor& tensor) {
  at::Tensor meta = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
  if (tensor.is_conj()) meta._set_conj(true);
  if (tensor.is_neg()) meta._set_neg(true);
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) meta.unsafeGetTensorImpl()->set_wrapped_number(true);
  return meta;
}

std::vector<OutputShape> shape_by_meta(const OperatorFacts& facts, Arguments arguments) {
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  for (c10::IValue& value : stack) {
    replace_tensors(value, to_meta);
    if (value.isDevice()) value = c10::Device(c10::kMeta);
  }
  facts.handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
  return shapes_of(stack);
}

std::vector<OutputShape> shape_by_running(const OperatorFacts& facts, Arguments arguments,
                                          const Stream& stream) {
  refuse_unplanned(stream, facts.name);
  // Copies, so that nothing an operator may write comes back.
  Loan copies(LoanKind::kStage, stream);
  copies.add_all(arguments, facts.writes);
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

}  // namespace

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

std::vector<OutputShape> shape_any(const OperatorFacts& facts, Arguments arguments, const Stream& stream) {
  if (facts.is_structured) return shapes_of(shape_structured(facts, arguments));
  const at::DisableRecordFunctionGuard unseen;
  const HostScope scope;
  try {
    return shape_by_meta(facts, arguments);
  } catch (const c10::NotImplementedError&) {
    return shape_by_running(facts, arguments, stream);
  }
}

namespace {

c10::Storage storage_on(const Stream& stream, size_t bytes) {
  DeviceAllocator& allocator = DeviceAllocator::instance();
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                               static_cast<int64_t>(bytes),
                                               allocator.allocate_on(stream, bytes), &allocator,
                                               /*resizable=*/true);
}

}  // namespace

at::Tensor empty_on(const Stream& stream, const OutputShape& shape) {
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>(
      c10::make_intrusive<DeviceTensorImpl>(storage_on(stream, shape.bytes), *shape.prototype)));
}

at::Tensor empty_like_on(const Stream& stream, const c10::TensorImpl& dense, at::ScalarType dtype) {
  const size_t bytes = static_cast<size_t>(dense.numel()) * c10::elementSize(dtype);
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>(
      c10::make_intrusive<DeviceTensorImpl>(storage_on(stream, bytes), dtype, dense)));
}

bool is_shaping() { return shaping; }

}  // namespace torchplug::aten
