#include "aten/plan/host_shape.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/zeros.h>

#include "aten/host/host_scope.h"

namespace torchplug::aten {
namespace {

at::Tensor zeros_on_host(const at::Tensor& tensor) {
  const size_t bytes = at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize());
  const auto count = static_cast<int64_t>(bytes / tensor.itemsize());
  const at::Tensor all = at::zeros({count}, tensor.options().device(at::kCPU));
  at::Tensor zeros = all.as_strided(tensor.sizes(), tensor.strides());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
    zeros.unsafeGetTensorImpl()->set_wrapped_number(true);
  return zeros;
}

}  // namespace

std::optional<CallShape> shape_on_zeros(const OperatorFacts& facts, Arguments arguments) {
  if (!facts.handle.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) return std::nullopt;
  const at::DisableRecordFunctionGuard unseen;
  const HostScope scope;
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  for (c10::IValue& value : stack) {
    replace_tensors(value, zeros_on_host);
    if (value.isDevice()) value = c10::Device(c10::kCPU);
  }
  facts.handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  CallShape shape;
  for (const c10::IValue& value : stack) {
    shape.outputs.push_back(value.isTensor() ? OutputShape::of(value.toTensor()) : OutputShape::none());
    shape.counts.push_back(1);
  }
  return shape;
}

}  // namespace torchplug::aten
