// The parts of a batch norm whose statistics several processes share (torch.nn.SyncBatchNorm): PyTorch's CPU
// has no kernels for them, so they are made of other operators. Numbers below float32 are summed in float32.

#include <ATen/TensorOperators.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var_mean.h>

#include <tuple>
#include <vector>

#include "aten/shims/shims.h"

namespace torchplug::aten {
namespace {

using Pair = std::tuple<at::Tensor, at::Tensor>;
using OptionalTensor = std::optional<at::Tensor>;

at::Tensor widened(const at::Tensor& tensor) {
  const bool is_narrow = tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
  return is_narrow ? tensor.to(at::kFloat) : tensor;
}

// All dimensions but the channels'.
std::vector<int64_t> reduced(const at::Tensor& input) {
  std::vector<int64_t> dimensions;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (d != 1) dimensions.push_back(d);
  }
  return dimensions;
}

// A number of each channel, in a shape that goes with the input's.
at::Tensor spread(const at::Tensor& of_channels, const at::Tensor& input) {
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes[1] = input.size(1);
  return of_channels.reshape(sizes);
}

at::Tensor scaled(const at::Tensor& tensor, const OptionalTensor& weight) {
  return weight && weight->defined() ? tensor * spread(*weight, tensor) : tensor;
}

Pair statistics(const at::Tensor& input, double eps) {
  auto [variance, mean] = at::var_mean(widened(input), reduced(input), /*unbiased=*/false);
  return {mean, at::rsqrt(variance + eps)};
}

at::Tensor normalized(const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                      const at::Tensor& mean, const at::Tensor& invstd, double /*eps*/) {
  at::Tensor result = scaled((widened(input) - spread(mean, input)) * spread(invstd, input), weight);
  if (bias && bias->defined()) result = result + spread(*bias, input);
  return result.to(input.scalar_type());
}

void update(const OptionalTensor& running, const at::Tensor& value, double momentum) {
  if (running && running->defined()) running->mul_(1 - momentum).add_(value, momentum);
}

// One row of `means` and `invstds` for each process; the sum of squares is that within the processes and that
// between them.
Pair gathered(const at::Tensor& /*input*/, const at::Tensor& means, const at::Tensor& invstds,
              const OptionalTensor& running_mean, const OptionalTensor& running_var, double momentum,
              double eps, const at::Tensor& counts) {
  const at::Tensor weights = counts.to(means.scalar_type()).reshape({-1, 1});
  const at::Tensor total = weights.sum();
  const at::Tensor mean = (means * weights).sum(0) / total;
  const at::Tensor variances = invstds.pow(-2) - eps;
  const at::Tensor squares = ((variances + (means - mean).pow(2)) * weights).sum(0);
  update(running_mean, mean, momentum);
  update(running_var, squares / (total - 1), momentum);
  return {mean, at::rsqrt(squares / total + eps)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> reduce_gradient(
    const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
    const OptionalTensor& weight, bool for_input, bool for_weight, bool for_bias) {
  const at::Tensor wide = widened(grad);
  const at::Tensor sum = wide.sum(reduced(input));
  const at::Tensor moment = (wide * (widened(input) - spread(mean, input))).sum(reduced(input));
  const at::ScalarType type = weight && weight->defined() ? weight->scalar_type() : sum.scalar_type();
  return {for_input ? sum : at::Tensor(), for_input ? moment : at::Tensor(),
          for_weight ? (moment * invstd).to(type) : at::Tensor(), for_bias ? sum.to(type) : at::Tensor()};
}

at::Tensor input_gradient(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean,
                          const at::Tensor& invstd, const OptionalTensor& weight, const at::Tensor& sum,
                          const at::Tensor& moment, const at::Tensor& count) {
  const at::Tensor total = count.sum().to(mean.scalar_type());
  const at::Tensor slope = moment * invstd.pow(2) / total;
  const at::Tensor centred = widened(input) - spread(mean, input);
  const at::Tensor inner = widened(grad) - spread(sum / total, input) - centred * spread(slope, input);
  return scaled(inner * spread(invstd, input), weight).to(input.scalar_type());
}

}  // namespace

void add_shared_batch_norm(OperatorLibrary& library) {
  add_behind_any(library, "batch_norm_stats", TORCH_FN(statistics));
  add_behind_any(library, "batch_norm_elemt", TORCH_FN(normalized));
  add_behind_any(library, "batch_norm_gather_stats_with_counts", TORCH_FN(gathered));
  add_behind_any(library, "batch_norm_backward_reduce", TORCH_FN(reduce_gradient));
  add_behind_any(library, "batch_norm_backward_elemt", TORCH_FN(input_gradient));
}

}  // namespace torchplug::aten
