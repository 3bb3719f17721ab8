#include "norm.h"

#include <cstring>

#include "arguments.h"

namespace xcpu::plugin {
namespace {

xcpu_norm_form rms_form(bool plus_one) { return plus_one ? XCPU_RMS_NORM_PLUS_ONE : XCPU_RMS_NORM; }

// A number for each column.
Rows shape_of_columns(const OptionalTensor& tensor, const char* name, std::int64_t columns) {
  if (tensor) expect_sizes(*tensor, name, {columns});
  return shape_of_rows(tensor, name);
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

NormPlan plan_norm(xcpu_norm_form form, const plug::Tensor& x, const OptionalTensor& weight,
                   const OptionalTensor& bias, const plug::Out& out) {
  NormPlan plan{};
  plan.x = shape_of_rows(x, "x");
  plan.args.form = form;
  plan.args.rows = plan.x.count;
  plan.args.columns = plan.x.columns;
  plan.weight = shape_of_columns(weight, "weight", plan.x.columns);
  plan.bias = shape_of_columns(bias, "bias", plan.x.columns);
  plan.out = shape_of_rows(out, "out");
  plan.team = team_of(plan.x.count, plan.x.columns);
  return plan;
}

NormPlan plan_sum(NormPlan plan, const plug::Tensor& x, const plug::Tensor& residual, const plug::Out& sum) {
  expect_sizes(residual, "residual", x.sizes());
  plan.residual = shape_of_rows(residual, "residual");
  plan.sum = shape_of_rows(sum, "residual");
  return plan;
}

void run(const plug::Call& call, const NormPlan& plan, const plug::Tensor& x, const OptionalTensor& residual,
         const OptionalTensor& weight, const OptionalTensor& bias, double eps, const plug::Out& out,
         const OptionalOut& sum) {
  xcpu_norm_args args = plan.args;
  if (args.rows * args.columns == 0) return;
  args.epsilon = static_cast<float>(eps);
  args.x = place_rows(call, x, plan.x);
  args.residual = place_rows(call, residual, plan.residual);
  args.weight = place_rows(call, weight, plan.weight);
  args.bias = place_rows(call, bias, plan.bias);
  args.out = place_rows(call, out, plan.out);
  if (sum) args.sum = place_rows(call, *sum, plan.sum);
  check(xcpu_norm(&args, plan.team));
}

std::size_t bytes_of(const plug::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel()) * PLUG_DTYPE_BYTES(tensor.dtype());
}

// Where the gradient of a number for each column goes, if it is wanted. Of no rows, and of an argument that
// is absent, it is zeros.
xcpu_rows column_gradient(const plug::Call& call, const OptionalOut& gradient, bool is_computed) {
  if (!gradient) return {};
  if (is_computed) return rows_of(call, *gradient, "weight").rows;
  std::memset(plug_address(&gradient->raw().mem), 0, bytes_of(*gradient));
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

void run(const plug::Call& call, const Backward& backward, const OptionalOut& grad_x,
         const OptionalOut& grad_weight, const OptionalOut& grad_bias) {
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
  args.weight = place_rows(call, backward.weight, shape_of_columns(backward.weight, "weight", rows.columns));
  const bool is_empty = rows.count * rows.columns == 0;
  if (grad_x) args.grad_x = rows_of(call, *grad_x, "x").rows;
  args.grad_weight = column_gradient(call, grad_weight, !is_empty && backward.weight.has_value());
  args.grad_bias = column_gradient(call, grad_bias, !is_empty && backward.has_bias);
  const bool has_work = grad_x || args.grad_weight.data != nullptr || args.grad_bias.data != nullptr;
  if (is_empty || !has_work) return;
  const plug::Scratch<char> scratch(call, xcpu_norm_backward_scratch(&args));
  check(xcpu_norm_backward(&args, scratch.data(), team_of(rows.count, rows.columns)));
}

// The same for two arguments whose gradients are equal.
void run_sum(const plug::Call& call, const Backward& backward, const OptionalOut& grad_x,
             const OptionalOut& grad_residual, const OptionalOut& grad_weight, const OptionalOut& grad_bias) {
  run(call, backward, grad_x ? grad_x : grad_residual, grad_weight, grad_bias);
  if (!grad_x || !grad_residual || grad_x->numel() == 0) return;
  std::memcpy(plug_address(&grad_residual->raw().mem), plug_address(&grad_x->raw().mem), bytes_of(*grad_x));
}

}  // namespace

NormPlan plan_rms_norm(plug::Call& /*call*/, plug::Tensor x, OptionalTensor weight, double /*eps*/,
                       bool plus_one, plug::Out out) {
  return plan_norm(rms_form(plus_one), x, weight, std::nullopt, out);
}

void rms_norm(plug::Call& call, const NormPlan& plan, plug::Tensor x, OptionalTensor weight, double eps,
              bool /*plus_one*/, plug::Out out) {
  run(call, plan, x, std::nullopt, weight, std::nullopt, eps, out, std::nullopt);
}

NormPlan plan_layer_norm(plug::Call& /*call*/, plug::Tensor x, OptionalTensor weight, OptionalTensor bias,
                         double /*eps*/, plug::Out out) {
  return plan_norm(XCPU_LAYER_NORM, x, weight, bias, out);
}

void layer_norm(plug::Call& call, const NormPlan& plan, plug::Tensor x, OptionalTensor weight,
                OptionalTensor bias, double eps, plug::Out out) {
  run(call, plan, x, std::nullopt, weight, bias, eps, out, std::nullopt);
}

NormPlan plan_add_rms_norm(plug::Call& /*call*/, plug::Tensor x, plug::Tensor residual, OptionalTensor weight,
                           double /*eps*/, bool plus_one, plug::Out out, plug::Out sum) {
  return plan_sum(plan_norm(rms_form(plus_one), x, weight, std::nullopt, out), x, residual, sum);
}

void add_rms_norm(plug::Call& call, const NormPlan& plan, plug::Tensor x, plug::Tensor residual,
                  OptionalTensor weight, double eps, bool /*plus_one*/, plug::Out out, plug::Out sum) {
  run(call, plan, x, residual, weight, std::nullopt, eps, out, sum);
}

NormPlan plan_add_layer_norm(plug::Call& /*call*/, plug::Tensor x, plug::Tensor residual,
                             OptionalTensor weight, OptionalTensor bias, double /*eps*/, plug::Out out,
                             plug::Out sum) {
  return plan_sum(plan_norm(XCPU_LAYER_NORM, x, weight, bias, out), x, residual, sum);
}

void add_layer_norm(plug::Call& call, const NormPlan& plan, plug::Tensor x, plug::Tensor residual,
                    OptionalTensor weight, OptionalTensor bias, double eps, plug::Out out, plug::Out sum) {
  run(call, plan, x, residual, weight, bias, eps, out, sum);
}

void rms_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor x, OptionalTensor weight, double eps,
                       bool plus_one, plug::Bools /*wanted*/, OptionalOut grad_x, OptionalOut grad_weight) {
  run(call, {rms_form(plus_one), eps, grad, nullptr, x, weight, false}, grad_x, grad_weight, std::nullopt);
}

void layer_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor x, OptionalTensor weight,
                         OptionalTensor bias, double eps, plug::Bools /*wanted*/, OptionalOut grad_x,
                         OptionalOut grad_weight, OptionalOut grad_bias) {
  run(call, {XCPU_LAYER_NORM, eps, grad, nullptr, x, weight, bias.has_value()}, grad_x, grad_weight,
      grad_bias);
}

void add_rms_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor grad_sum, plug::Tensor sum,
                           OptionalTensor weight, double eps, bool plus_one, plug::Bools /*wanted*/,
                           OptionalOut grad_x, OptionalOut grad_residual, OptionalOut grad_weight) {
  run_sum(call, {rms_form(plus_one), eps, grad, &grad_sum, sum, weight, false}, grad_x, grad_residual,
          grad_weight, std::nullopt);
}

void add_layer_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor grad_sum, plug::Tensor sum,
                             OptionalTensor weight, OptionalTensor bias, double eps, plug::Bools /*wanted*/,
                             OptionalOut grad_x, OptionalOut grad_residual, OptionalOut grad_weight,
                             OptionalOut grad_bias) {
  run_sum(call, {XCPU_LAYER_NORM, eps, grad, &grad_sum, sum, weight, bias.has_value()}, grad_x, grad_residual,
          grad_weight, grad_bias);
}

}  // namespace xcpu::plugin
