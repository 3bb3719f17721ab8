#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones_like.h>

#include <tuple>
#include <utility>

#include "aten/shims/shims.h"

namespace torchplug::aten {
namespace {

// The CPU's native_dropout draws from the CPU's own generator, whatever device asks; this one draws
// through bernoulli_, from the device's.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p,
                                                  std::optional<bool> train) {
  const at::TensorOptions mask_options = input.options().dtype(at::kBool);
  if (input.numel() == 0) return {input, at::empty_like(input, mask_options)};
  if (train.has_value() && !*train) return {input, at::ones_like(input, mask_options)};
  at::Tensor mask = at::empty_like(input, mask_options);
  mask.bernoulli_(1 - p);
  const double scale = p == 1 ? 0.0 : 1.0 / (1.0 - p);
  return {input.mul(mask).mul_(scale), mask};
}

}  // namespace

void compose_dropout(torch::jit::Stack& stack) {
  const auto train = torch::jit::pop(stack).toOptional<bool>();
  const double p = torch::jit::pop(stack).toDouble();
  auto [output, mask] = native_dropout(torch::jit::pop(stack).toTensor(), p, train);
  torch::jit::push(stack, std::move(output), std::move(mask));
}

void add_dropout(OperatorLibrary& library) {
  add_behind_any(library, "native_dropout", TORCH_FN(native_dropout));
}

}  // namespace torchplug::aten
