// Attention whose fused kernel the plugin has declined, in terms of operators that every device has. What it
// dropped is kept for its gradient where a fused kernel keeps the seed of its random numbers: a mask, whose
// dtype tells the two apart.

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "aten/shims/shims.h"

namespace torchplug::aten {
namespace {

struct Attention {
  at::Tensor query, key, value, bias;
  double dropout;
  bool is_causal;
  std::optional<double> scale;

  double factor() const { return scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1)))); }
  // How many heads of queries share one of keys and values.
  int64_t group() const { return query.dim() < 3 ? 1 : query.size(-3) / key.size(-3); }
};

// In what PyTorch's own composed form computes.
at::Tensor wide_form(const at::Tensor& tensor) {
  const bool is_narrow = tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
  return is_narrow && !at::globalContext().allowFP16BF16ReductionMathSDP() ? tensor.to(at::kFloat) : tensor;
}

at::Tensor repeated(const at::Tensor& heads, int64_t group) {
  return group == 1 ? heads : heads.repeat_interleave(group, -3);
}

// Back to one head for each group.
at::Tensor summed(const at::Tensor& gradient, int64_t group) {
  if (group == 1) return gradient;
  const int64_t heads = gradient.size(-3) / group;
  return gradient.unflatten(gradient.dim() - 3, {heads, group}).sum(-3);
}

// The weights before anything is dropped.
at::Tensor weights_of(const Attention& given) {
  const double part = std::sqrt(std::abs(given.factor()));
  const at::Tensor key = repeated(wide_form(given.key), given.group());
  const at::Tensor query = wide_form(given.query).mul(given.factor() < 0 ? -part : part);
  at::Tensor scores = at::matmul(query, key.transpose(-2, -1).mul(part));
  if (given.is_causal) {
    const at::Tensor seen =
        at::ones({scores.size(-2), scores.size(-1)}, scores.options().dtype(at::kBool)).tril();
    scores = scores.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity());
  } else if (given.bias.defined()) {
    scores = scores.add(given.bias);
  }
  return at::_safe_softmax(scores, -1);
}

at::Tensor dropped(const at::Tensor& weights, const at::Tensor& kept, double dropout) {
  if (kept.numel() == 0) return weights;
  return dropout == 1 ? at::zeros_like(weights) : weights.mul(kept).mul(1 / (1 - dropout));
}

Attention attention_of(Arguments arguments, size_t dropout_at, size_t scale_at) {
  const auto tensor = [](const c10::IValue& value) {
    return value.isTensor() ? value.toTensor() : at::Tensor();
  };
  return {tensor(arguments[0]),
          tensor(arguments[1]),
          tensor(arguments[2]),
          tensor(arguments[3]),
          arguments[dropout_at].toDouble(),
          arguments[dropout_at + 1].toBool(),
          arguments[scale_at].toOptional<double>()};
}

std::array<at::Tensor, 4> gradients_of(const Attention& given, const at::Tensor& grad_out,
                                       const at::Tensor& kept, const std::array<bool, 4>& wanted) {
  const int64_t group = given.group();
  const at::Tensor grad = wide_form(grad_out);
  const at::Tensor weights = weights_of(given);
  const at::Tensor value = repeated(wide_form(given.value), group);
  std::array<at::Tensor, 4> gradients;
  if (wanted[2]) {
    const at::Tensor used = dropped(weights, kept, given.dropout);
    gradients[2] = summed(at::matmul(used.transpose(-2, -1), grad), group);
  }
  const at::Tensor by_weight = dropped(at::matmul(grad, value.transpose(-2, -1)), kept, given.dropout);
  const at::Tensor mean = by_weight.mul(weights).sum(-1, /*keepdim=*/true);
  const at::Tensor by_score = by_weight.sub(mean).mul(weights);
  const at::Tensor scaled = by_score.mul(given.factor());
  if (wanted[0]) gradients[0] = at::matmul(scaled, repeated(wide_form(given.key), group));
  if (wanted[1]) gradients[1] = summed(at::matmul(scaled.transpose(-2, -1), wide_form(given.query)), group);
  if (wanted[3] && given.bias.defined()) gradients[3] = at::sum_to(by_score, given.bias.sizes());
  const std::array<at::Tensor, 4> like{given.query, given.key, given.value, given.bias};
  for (size_t i = 0; i < like.size(); ++i) {
    if (gradients[i].defined()) gradients[i] = gradients[i].to(like[i].scalar_type());
  }
  return gradients;
}

}  // namespace

void compose_attention(torch::jit::Stack& stack) {
  constexpr size_t kArguments = 8;
  const Attention given = attention_of(torch::jit::last(stack, kArguments), /*dropout_at=*/4, /*scale_at=*/7);
  const at::Tensor weights = weights_of(given);
  at::Tensor kept = at::empty({0}, given.query.options().dtype(at::kBool));
  if (given.dropout > 0) kept = at::empty_like(weights, kept.options()).bernoulli_(1 - given.dropout);
  const at::Tensor value = repeated(wide_form(given.value), given.group());
  at::Tensor output = at::matmul(dropped(weights, kept, given.dropout), value).to(given.query.scalar_type());
  const at::Tensor nothing = at::empty({0}, given.query.options().dtype(at::kFloat));
  const at::Tensor none;
  const int64_t max_q = given.query.size(-2);
  const int64_t max_k = given.key.size(-2);
  torch::jit::drop(stack, kArguments);
  torch::jit::push(stack, std::move(output), nothing, none, none, max_q, max_k, kept,
                   at::zeros({}, given.query.options().dtype(at::kLong)), none);
}

bool is_composed_attention(Arguments arguments) {
  const c10::IValue& seed = arguments[14];
  return seed.isTensor() && seed.toTensor().defined() && seed.toTensor().scalar_type() == at::kBool;
}

void compose_attention_backward(torch::jit::Stack& stack) {
  constexpr size_t kArguments = 17;
  const Arguments arguments = torch::jit::last(stack, kArguments);
  const Attention given = attention_of(arguments.slice(1), /*dropout_at=*/11, /*scale_at=*/15);
  const bool is_composed = is_composed_attention(arguments);
  TORCH_CHECK(
      is_composed || given.dropout == 0,
      "The gradient of scaled_dot_product_attention with dropout cannot be computed: the plugin's kernel "
      "computed the attention, and has none for the gradient that takes this call. Its kernel for ",
      "_scaled_dot_product_fused_attention_overrideable should decline dropout.");
  const at::Tensor kept =
      is_composed ? arguments[14].toTensor() : at::empty({0}, given.query.options().dtype(at::kBool));
  std::array<bool, 4> wanted{};
  const auto mask = arguments[5].toBoolList();
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = mask[i];
  auto gradients = gradients_of(given, arguments[0].toTensor(), kept, wanted);
  torch::jit::drop(stack, kArguments);
  for (at::Tensor& gradient : gradients) stack.emplace_back(std::move(gradient));
}

}  // namespace torchplug::aten
