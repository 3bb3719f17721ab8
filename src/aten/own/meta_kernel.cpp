#include "aten/own/meta_kernel.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

namespace torchplug::aten {
namespace {

at::Tensor empty_meta(const ShapedTensor<c10::SymInt>& shape) {
  const auto options = at::device(at::kMeta).dtype(shape.dtype);
  return shape.strides.empty() ? at::empty_symint(shape.sizes, options)
                               : at::empty_strided_symint(shape.sizes, shape.strides, options);
}

c10::IValue without_contents(const ShapedResult<c10::SymInt>& shaped) {
  if (shaped.is_absent()) return at::Tensor();
  if (!shaped.is_list) return empty_meta(shaped.tensors.front());
  c10::List<at::Tensor> list;
  for (const ShapedTensor<c10::SymInt>& shape : shaped.tensors) list.push_back(empty_meta(shape));
  return list;
}

// Half of a module that is still on meta would give results without contents, which nobody asked for. What a
// tracer has tells meta here. A number may be anywhere.
void expect_no_contents(const OwnOperator& own, Arguments arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      TORCH_CHECK(tensor.is_meta() || tensor.dim() == 0,
                  "Expected all tensors to be on the same device, but found at least two devices, meta and ",
                  tensor.device(), "! (", own.name, ", '", own.schema.arguments()[i].name(), "')");
    });
  }
}

}  // namespace

void MetaKernel::operator()(const c10::OperatorHandle& /*handle*/, c10::DispatchKeySet /*keys*/,
                            torch::jit::Stack* stack) {
  const Arguments arguments = torch::jit::last(*stack, own_.schema.arguments().size());
  check_tensors(own_, arguments);
  expect_no_contents(own_, arguments);
  const auto shaped = shape_results<c10::SymInt>(own_, arguments);
  std::vector<c10::IValue> results;
  for (size_t i = 0; i < shaped.size(); ++i) {
    if (const auto& place = own_.returned[i]) {
      results.push_back(arguments[*place]);
    } else if (const auto& result = shaped[i]) {
      results.push_back(without_contents(*result));
    }
  }
  torch::jit::drop(*stack, arguments.size());
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

}  // namespace torchplug::aten
