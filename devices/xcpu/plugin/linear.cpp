#include "linear.h"

#include <string>

#include "activation.h"
#include "arguments.h"

namespace xcpu::plugin {
namespace {

xcpu_precision precision_of(std::string_view word) { return word_of(word, "precision", {"int8", "bf16"}); }

void expect_inputs(const plug::Tensor& x, const char* name, const xcpu_packed& weight,
                   const char* weight_name) {
  if (x.size(-1) == weight.k) return;
  refuse(std::string(name) + " is " + look_of(x) + ", and " + weight_name + " takes " +
         std::to_string(weight.k) + " inputs");
}

Rows shape_of_bias(const OptionalTensor& bias, const char* name, const xcpu_packed& weight) {
  if (bias) expect_sizes(*bias, name, {weight.n * (1 + weight.pair)});
  return shape_of_rows(bias, name);
}

// Rows like those of the result.
Rows shape_beside(const OptionalTensor& tensor, const char* name, const plug::Tensor& out) {
  if (tensor) expect_sizes(*tensor, name, out.sizes());
  return shape_of_rows(tensor, name);
}
xcpu_rows beside(const plug::Call& call, const OptionalTensor& tensor, const char* name,
                 const plug::Tensor& out) {
  return place_rows(call, tensor, shape_beside(tensor, name, out));
}

// A small product is not worth waking threads for.
const xcpu_team* team_of(const xcpu_linear_args& args) {
  constexpr std::int64_t kFewBytes = 1 << 14;
  constexpr std::int64_t kFewRows = 8;
  return args.rows <= kFewRows && xcpu_packed_bytes(&args.weight) <= kFewBytes ? nullptr : team();
}

void run(const plug::Call& call, const xcpu_linear_args& args) {
  if (args.rows == 0) return;
  const plug::Scratch<char> scratch(call, xcpu_linear_scratch(&args));
  check(xcpu_linear(&args, scratch.data(), team_of(args)));
}

// What lies between the two products of an MLP: nothing is rounded that the second would not round.
xcpu_dtype between(const xcpu_packed& down, xcpu_precision precision) {
  const bool reads_bf16 =
      down.kind == XCPU_W_BF16 || (down.kind == XCPU_W_INT4 && precision == XCPU_INPUT_BF16);
  return reads_bf16 ? XCPU_BF16 : XCPU_F32;
}

// But for `mul`.
LinearPlan plan_product(const plug::Tensor& x, const xcpu_packed& weight, const OptionalTensor& bias,
                        std::string_view activation, const OptionalTensor& residual,
                        std::string_view precision, const plug::Out& out) {
  LinearPlan plan{};
  plan.args.weight = weight;
  plan.args.weight.data = nullptr;
  plan.args.precision = precision_of(precision);
  plan.args.activation = activation_of(activation);
  plan.x = shape_of_rows(x, "x");
  expect_inputs(x, "x", weight, "weight");
  plan.args.rows = plan.x.count;
  plan.bias = shape_of_bias(bias, "bias", weight);
  plan.residual = shape_beside(residual, "residual", out);
  plan.out = shape_of_rows(out, "dtype");
  plan.args.x = plan.x.rows;
  plan.args.out = plan.out.rows;
  plan.scratch_bytes = xcpu_linear_scratch(&plan.args);
  plan.team = team_of(plan.args);
  return plan;
}

void run(const plug::Call& call, const LinearPlan& plan, const plug::Tensor& x, const plug::Tensor& weight,
         const OptionalTensor& bias, const OptionalTensor& mul, const OptionalTensor& residual,
         const plug::Out& out) {
  xcpu_linear_args args = plan.args;
  if (args.rows == 0) return;
  args.weight.data = address_of(weight);
  args.x = place_rows(call, x, plan.x);
  args.bias = place_rows(call, bias, plan.bias);
  args.mul = place_rows(call, mul, plan.mul);
  args.residual = place_rows(call, residual, plan.residual);
  args.out = place_rows(call, out, plan.out);
  const plug::Scratch<char> scratch(call, plan.scratch_bytes);
  check(xcpu_linear(&args, scratch.data(), plan.team));
}

}  // namespace

xcpu_linear_args linear_args(const plug::Call& call, const plug::Tensor& x, const xcpu_packed& weight,
                             const OptionalTensor& bias, std::string_view activation,
                             std::string_view precision) {
  xcpu_linear_args args{};
  args.weight = weight;
  args.precision = precision_of(precision);
  args.activation = activation_of(activation);
  const Rows rows = rows_of(call, x, "x");
  expect_inputs(x, "x", weight, "weight");
  args.rows = rows.count;
  args.x = rows.rows;
  args.bias = place_rows(call, bias, shape_of_bias(bias, "bias", weight));
  return args;
}

LinearPlan plan_linear(plug::Call& /*call*/, plug::Tensor x, plug::Tensor weight, OptionalTensor bias,
                       std::string_view activation, OptionalTensor mul, OptionalTensor residual,
                       std::string_view precision, OptionalDtype /*dtype*/, plug::Out out) {
  const xcpu_packed packed = packed_of(weight, "weight");
  if (packed.pair != 0) refuse("weight is a pair: use xcpu::gate_up, or a weight of xcpu::pack");
  LinearPlan plan = plan_product(x, packed, bias, activation, residual, precision, out);
  plan.mul = shape_beside(mul, "mul", out);
  return plan;
}

void linear(plug::Call& call, const LinearPlan& plan, plug::Tensor x, plug::Tensor weight,
            OptionalTensor bias, std::string_view /*activation*/, OptionalTensor mul, OptionalTensor residual,
            std::string_view /*precision*/, OptionalDtype /*dtype*/, plug::Out out) {
  run(call, plan, x, weight, bias, mul, residual, out);
}

void linear_grad(plug::Call& call, plug::Tensor grad, plug::Tensor x, plug::Tensor weight,
                 OptionalTensor bias, OptionalTensor mul, std::string_view activation,
                 std::string_view precision, plug::Out out) {
  const xcpu_packed packed = packed_of(weight, "weight");
  xcpu_linear_args args = linear_args(call, x, packed, bias, activation, precision);
  const xcpu_activation kind = args.activation;
  const xcpu_rows given = beside(call, grad, "grad", out);
  const xcpu_rows by = beside(call, mul, "mul", out);
  const xcpu_rows result = rows_of(call, out, "grad").rows;
  if (args.rows == 0) return;
  if (mul || kind == XCPU_IDENTITY) {
    call.team(args.rows, 1 + (1 << 13) / packed.n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) multiply_row(given, by, result, row, packed.n);
    });
  }
  if (kind == XCPU_IDENTITY) return;  // without one its slope is 1 whatever it is given
  const plug::Scratch<float> sums(call, args.rows * packed.n);
  args.activation = XCPU_IDENTITY;
  args.out = {sums.data(), XCPU_F32, packed.n};
  run(call, args);
  xcpu_activation_args slope{};
  slope.activation = kind;
  slope.rows = args.rows;
  slope.columns = packed.n;
  slope.x = args.out;
  slope.grad = mul ? result : given;
  slope.out = result;
  check(xcpu_activate(&slope, team_of(args)));
}

LinearPlan plan_gate_up(plug::Call& /*call*/, plug::Tensor x, plug::Tensor weight, OptionalTensor bias,
                        std::string_view activation, OptionalTensor residual, std::string_view precision,
                        OptionalDtype /*dtype*/, plug::Out out) {
  const xcpu_packed packed = packed_of(weight, "weight");
  if (packed.pair == 0) refuse("weight is one matrix: use xcpu::linear, or a weight of xcpu::pack_pair");
  return plan_product(x, packed, bias, activation, residual, precision, out);
}

void gate_up(plug::Call& call, const LinearPlan& plan, plug::Tensor x, plug::Tensor weight,
             OptionalTensor bias, std::string_view /*activation*/, OptionalTensor residual,
             std::string_view /*precision*/, OptionalDtype /*dtype*/, plug::Out out) {
  run(call, plan, x, weight, bias, std::nullopt, residual, out);
}

MlpPlan plan_mlp(plug::Call& /*call*/, plug::Tensor x, plug::Tensor up, plug::Tensor down,
                 OptionalTensor up_bias, OptionalTensor down_bias, std::string_view activation,
                 OptionalTensor residual, std::string_view precision, OptionalDtype /*dtype*/,
                 plug::Out out) {
  MlpPlan plan{};
  xcpu_mlp_args& args = plan.args;
  args.up.weight = packed_of(up, "up");
  args.down.weight = packed_of(down, "down");
  if (args.down.weight.pair != 0) refuse("down is a pair; it is a weight of xcpu::pack");
  if (args.down.weight.k != args.up.weight.n) {
    refuse("down takes " + std::to_string(args.down.weight.k) + " inputs, and up gives " +
           std::to_string(args.up.weight.n));
  }
  args.up.precision = args.down.precision = precision_of(precision);
  args.up.activation = activation_of(activation);
  plan.x = shape_of_rows(x, "x");
  expect_inputs(x, "x", args.up.weight, "up");
  args.up.rows = args.down.rows = plan.x.count;
  args.up.out = args.down.x = {nullptr, between(args.down.weight, args.down.precision), args.up.weight.n};
  plan.up_bias = shape_of_bias(up_bias, "up_bias", args.up.weight);
  plan.down_bias = shape_of_bias(down_bias, "down_bias", args.down.weight);
  plan.residual = shape_beside(residual, "residual", out);
  plan.out = shape_of_rows(out, "dtype");
  args.up.x = plan.x.rows;
  args.down.out = plan.out.rows;
  plan.scratch_bytes = xcpu_mlp_scratch(&args);
  return plan;
}

void mlp(plug::Call& call, const MlpPlan& plan, plug::Tensor x, plug::Tensor up, plug::Tensor down,
         OptionalTensor up_bias, OptionalTensor down_bias, std::string_view /*activation*/,
         OptionalTensor residual, std::string_view /*precision*/, OptionalDtype /*dtype*/, plug::Out out) {
  xcpu_mlp_args args = plan.args;
  if (args.up.rows == 0) return;
  args.up.weight.data = address_of(up);
  args.down.weight.data = address_of(down);
  args.up.x = place_rows(call, x, plan.x);
  args.up.bias = place_rows(call, up_bias, plan.up_bias);
  args.down.bias = place_rows(call, down_bias, plan.down_bias);
  args.down.residual = place_rows(call, residual, plan.residual);
  args.down.out = place_rows(call, out, plan.out);
  const plug::Scratch<char> scratch(call, plan.scratch_bytes);
  check(xcpu_mlp(&args, scratch.data(), team()));
}

}  // namespace xcpu::plugin
