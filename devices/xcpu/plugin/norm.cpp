#include "norm.h"

#include <cstring>

#include "arguments.h"

namespace xcpu::plugin {
namespace {

using OptionalTensor = std::optional<plug::Tensor>;

xcpu_norm_form rms_form(bool plus_one) { return plus_one ? XCPU_RMS_NORM_PLUS_ONE : XCPU_RMS_NORM; }

// A number for each column.
xcpu_rows per_column(const plug::Call& call, const OptionalTensor& tensor, const char* name,
                     std::int64_t columns) {
  if (tensor) expect_sizes(*tensor, name, {columns});
  return rows_of(call, tensor, name);
}

xcpu_rows beside(const plug::Call& call, const plug::Tensor& tensor, const char* name,
                 const plug::Tensor& other) {
  expect_sizes(tensor, name, other.sizes());
  return rows_of(call, tensor, name).rows;
}

// A few rows are done before another thread has woken.
const xcpu_team* team_of(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kFew = 1 << 13;
  return rows * columns <= kFew ? nullptr : team();
}

xcpu_norm_args norm_args(const plug::Call& call, xcpu_norm_form form, const plug::Tensor& x,
                         const OptionalTensor& weight, const OptionalTensor& bias, double eps,
                         const plug::Out& out) {
  const Rows rows = rows_of(call, x, "x");
  xcpu_norm_args args{};
  args.form = form;
  args.epsilon = static_cast<float>(eps);
  args.rows = rows.count;
  args.columns = rows.columns;
  args.x = rows.rows;
  args.weight = per_column(call, weight, "weight", rows.columns);
  args.bias = per_column(call, bias, "bias", rows.columns);
  args.out = rows_of(call, out, "out").rows;
  return args;
}

void run(const xcpu_norm_args& args) {
  if (args.rows * args.columns == 0) return;
  check(xcpu_norm(&args, team_of(args.rows, args.columns)));
}

void norm(const plug::Call& call, xcpu_norm_form form, const plug::Tensor& x, const OptionalTensor& weight,
          const OptionalTensor& bias, double eps, const plug::Out& out) {
  run(norm_args(call, form, x, weight, bias, eps, out));
}

void add_norm(const plug::Call& call, xcpu_norm_form form, const plug::Tensor& x,
              const plug::Tensor& residual, const OptionalTensor& weight, const OptionalTensor& bias,
              double eps, const plug::Out& out, const plug::Out& sum) {
  xcpu_norm_args args = norm_args(call, form, x, weight, bias, eps, out);
  args.residual = beside(call, residual, "residual", x);
  args.sum = rows_of(call, sum, "residual").rows;
  run(args);
}

std::size_t bytes_of(const plug::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel()) * PLUG_DTYPE_BYTES(tensor.dtype());
}

// Where the gradient of an argument goes. What nobody asks for is zeros.
xcpu_rows asked(const plug::Call& call, bool is_asked, const plug::Out& gradient) {
  if (is_asked) return rows_of(call, gradient, "weight").rows;
  std::memset(plug_address(&gradient.raw().mem), 0, bytes_of(gradient));
  return {};
}

struct Backward {
  xcpu_norm_form form;
  double eps;
  const plug::Tensor& grad;
  const plug::Tensor* grad_sum;  // null: there is none
  const plug::Tensor& x;         // what was normalised
  const OptionalTensor& weight;
  bool has_bias;
};

void run(const plug::Call& call, const Backward& backward, const plug::Out& grad_x,
         const plug::Out& grad_weight, const plug::Out* grad_bias) {
  const Rows rows = rows_of(call, backward.x, "x");
  xcpu_norm_backward_args args{};
  args.form = backward.form;
  args.epsilon = static_cast<float>(backward.eps);
  args.rows = rows.count;
  args.columns = rows.columns;
  args.x = rows.rows;
  args.grad = beside(call, backward.grad, "grad", backward.x);
  if (backward.grad_sum != nullptr) {
    args.grad_sum = beside(call, *backward.grad_sum, "grad_sum", backward.x);
  }
  args.weight = per_column(call, backward.weight, "weight", rows.columns);
  const bool is_empty = rows.count * rows.columns == 0;
  args.grad_x = rows_of(call, grad_x, "x").rows;
  args.grad_weight = asked(call, !is_empty && backward.weight.has_value(), grad_weight);
  if (grad_bias != nullptr) args.grad_bias = asked(call, !is_empty && backward.has_bias, *grad_bias);
  if (is_empty) return;
  const plug::Scratch<char> scratch(call, xcpu_norm_backward_scratch(&args));
  check(xcpu_norm_backward(&args, scratch.data(), team_of(rows.count, rows.columns)));
}

void copy_result(const plug::Out& to, const plug::Out& from) {
  if (to.numel() == 0) return;
  std::memcpy(plug_address(&to.raw().mem), plug_address(&from.raw().mem), bytes_of(to));
}

}  // namespace

void rms_norm(plug::Call& call, plug::Tensor x, OptionalTensor weight, double eps, bool plus_one,
              plug::Out out) {
  norm(call, rms_form(plus_one), x, weight, std::nullopt, eps, out);
}

void layer_norm(plug::Call& call, plug::Tensor x, OptionalTensor weight, OptionalTensor bias, double eps,
                plug::Out out) {
  norm(call, XCPU_LAYER_NORM, x, weight, bias, eps, out);
}

void add_rms_norm(plug::Call& call, plug::Tensor x, plug::Tensor residual, OptionalTensor weight, double eps,
                  bool plus_one, plug::Out out, plug::Out sum) {
  add_norm(call, rms_form(plus_one), x, residual, weight, std::nullopt, eps, out, sum);
}

void add_layer_norm(plug::Call& call, plug::Tensor x, plug::Tensor residual, OptionalTensor weight,
                    OptionalTensor bias, double eps, plug::Out out, plug::Out sum) {
  add_norm(call, XCPU_LAYER_NORM, x, residual, weight, bias, eps, out, sum);
}

void rms_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor x, OptionalTensor weight, double eps,
                       bool plus_one, plug::Out grad_x, plug::Out grad_weight) {
  run(call, {rms_form(plus_one), eps, grad, nullptr, x, weight, false}, grad_x, grad_weight, nullptr);
}

void layer_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor x, OptionalTensor weight,
                         OptionalTensor bias, double eps, plug::Out grad_x, plug::Out grad_weight,
                         plug::Out grad_bias) {
  run(call, {XCPU_LAYER_NORM, eps, grad, nullptr, x, weight, bias.has_value()}, grad_x, grad_weight,
      &grad_bias);
}

void add_rms_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor grad_sum, plug::Tensor sum,
                           OptionalTensor weight, double eps, bool plus_one, plug::Out grad_x,
                           plug::Out grad_residual, plug::Out grad_weight) {
  run(call, {rms_form(plus_one), eps, grad, &grad_sum, sum, weight, false}, grad_x, grad_weight, nullptr);
  copy_result(grad_residual, grad_x);
}

void add_layer_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor grad_sum, plug::Tensor sum,
                             OptionalTensor weight, OptionalTensor bias, double eps, plug::Out grad_x,
                             plug::Out grad_residual, plug::Out grad_weight, plug::Out grad_bias) {
  run(call, {XCPU_LAYER_NORM, eps, grad, &grad_sum, sum, weight, bias.has_value()}, grad_x, grad_weight,
      &grad_bias);
  copy_result(grad_residual, grad_x);
}

}  // namespace xcpu::plugin
