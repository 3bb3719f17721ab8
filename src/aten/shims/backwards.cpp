// Gradients that PyTorch has for other devices only, of operators that it composes of others unless a plugin
// has a kernel: the same functions in terms of operators that every device has.

#include <ATen/ExpandUtils.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <c10/util/accumulate.h>

#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "aten/shims/shims.h"
#include "base/operator_library.h"

namespace torchplug::aten {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

// The gradients of a linear's input and weight, laid out as these are, like those of aten::mm.
at::Tensor gradient_of_input(const at::Tensor& input, const at::Tensor& grad, const at::Tensor& weight) {
  const bool is_transposed =
      input.dim() == 2 && input.stride(0) == 1 && input.stride(1) == input.size(0) && input.size(0) > 1;
  return is_transposed ? weight.t().conj().mm(grad.t()).t() : grad.mm(weight.conj()).reshape(input.sizes());
}

at::Tensor gradient_of_weight(const at::Tensor& weight, const at::Tensor& grad, const at::Tensor& input) {
  const bool is_transposed = weight.stride(1) != 1 || weight.stride(0) != weight.size(1);
  return is_transposed ? input.t().conj().mm(grad).t() : grad.t().mm(input.conj());
}

// A weight without the dimension of outputs gives one output, which has no dimension.
std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_backward(const at::Tensor& self,
                                                               const at::Tensor& given_grad,
                                                               const at::Tensor& given_weight,
                                                               std::array<bool, 3> wanted) {
  if (!given_grad.defined()) return {};
  const int64_t features = given_weight.size(-1);
  const int64_t rows = c10::multiply_integers(self.sizes().begin(), self.sizes().end() - 1);
  const at::Tensor weight = given_weight.dim() == 1 ? given_weight.unsqueeze(0) : given_weight;
  const at::Tensor grad = given_grad.reshape({rows, weight.size(0)});
  at::Tensor grad_self;
  at::Tensor grad_weight;
  at::Tensor grad_bias;
  if (wanted[0]) grad_self = gradient_of_input(self, grad, weight);
  if (wanted[1]) {
    const at::Tensor input = self.reshape({rows, features});
    grad_weight = gradient_of_weight(weight, grad, input).reshape(given_weight.sizes());
  }
  if (wanted[2]) grad_bias = given_weight.dim() == 1 ? grad.sum() : grad.sum(0);
  return {grad_self, grad_weight, grad_bias};
}

// Of matrices, whose leading dimensions matmul broadcasts; a vector is a matrix of one row or column.
std::tuple<at::Tensor, at::Tensor> matmul_backward(const at::Tensor& given_grad, const at::Tensor& self,
                                                   const at::Tensor& other, std::array<bool, 2> wanted) {
  if (!given_grad.defined()) return {};
  const bool is_row = self.dim() == 1;
  const bool is_column = other.dim() == 1;
  const at::Tensor left = is_row ? self.unsqueeze(0) : self;
  const at::Tensor right = is_column ? other.unsqueeze(1) : other;
  at::Tensor grad = given_grad;
  if (is_row) grad = grad.unsqueeze(is_column ? -1 : -2);
  if (is_column) grad = grad.unsqueeze(-1);
  at::Tensor grad_self;
  at::Tensor grad_other;
  if (wanted[0]) {
    grad_self = at::sum_to(at::matmul(grad, right.mT().conj()), left.sizes()).reshape(self.sizes());
  }
  if (wanted[1]) {
    grad_other = at::sum_to(at::matmul(left.mT().conj(), grad), right.sizes()).reshape(other.sizes());
  }
  return {grad_self, grad_other};
}

at::Tensor max_pool2d_backward(const at::Tensor& grad, const at::Tensor& self, at::IntArrayRef kernel_size,
                               at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                               bool ceil_mode) {
  const at::Tensor places =
      std::get<1>(at::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
  return at::max_pool2d_with_indices_backward(grad, self, kernel_size, stride, padding, dilation, ceil_mode,
                                              places);
}

// `rstd`: what forward gave, in the dtype it computed in.
std::tuple<at::Tensor, at::Tensor> rms_norm_backward(const at::Tensor& grad_out, const at::Tensor& input,
                                                     at::IntArrayRef normalized, const at::Tensor& rstd,
                                                     const OptionalTensor& given_weight,
                                                     std::array<bool, 2> wanted) {
  if (!grad_out.defined()) return {};
  const auto kept = input.dim() - static_cast<int64_t>(normalized.size());
  std::vector<int64_t> outer;
  std::vector<int64_t> inner;
  for (int64_t d = 0; d < input.dim(); ++d) (d < kept ? outer : inner).push_back(d);
  std::vector<int64_t> per_row(input.sizes().begin(), input.sizes().end());
  for (int64_t d : inner) per_row[static_cast<size_t>(d)] = 1;
  const at::Tensor scale = rstd.reshape(per_row);
  const at::Tensor scaled = input.to(scale.scalar_type()).mul(scale);
  const at::Tensor grad = grad_out.to(scale.scalar_type());
  const at::Tensor weight = given_weight.value_or(at::Tensor());
  at::Tensor grad_input;
  at::Tensor grad_weight;
  if (wanted[0]) {
    const at::Tensor weighted = weight.defined() ? grad.mul(weight) : grad;
    const at::Tensor shared = weighted.mul(scaled).mean(inner, /*keepdim=*/true);
    grad_input = weighted.sub(scaled.mul(shared)).mul(scale).to(input.scalar_type());
  }
  if (wanted[1] && weight.defined()) {
    const at::Tensor each = grad.mul(scaled);
    grad_weight = (outer.empty() ? each : each.sum(outer)).to(weight.scalar_type());
  }
  return {grad_input, grad_weight};
}

// PyTorch has no gradient for the operator: it has that of what it is composed of.
template <class Function>
void make_differentiable(const char* name, Function function) {
  const std::string full = std::string("aten::") + name;
  if (has_kernel(full) || !find_operator(full)) return;
  operator_library("aten", c10::DispatchKey::AutogradPrivateUse1).impl(name, function);
}

// Calls visit(name, function) for each.
template <class Visit>
void for_each_backward(Visit visit) {
  visit("linear_backward", TORCH_FN(linear_backward));
  visit("matmul_backward", TORCH_FN(matmul_backward));
  visit("max_pool2d_backward", TORCH_FN(max_pool2d_backward));
  visit("_fused_rms_norm_backward", TORCH_FN(rms_norm_backward));
}

}  // namespace

void add_backwards(OperatorLibrary& library) {
  make_differentiable("matmul_backward", TORCH_FN(matmul_backward));
  make_differentiable("max_pool2d_backward", TORCH_FN(max_pool2d_backward));
  for_each_backward([&](const char* name, auto function) { add_behind_any(library, name, function); });
}

void compose_backward(OperatorKernel& kernel) {
  const std::string called = full_name(kernel.handle().operator_name());
  for_each_backward([&](const char* name, auto function) {
    if (called == std::string("aten::") + name)
      set_composed(kernel, c10::KernelFunction::makeFromUnboxedFunction(function));
  });
}

}  // namespace torchplug::aten
