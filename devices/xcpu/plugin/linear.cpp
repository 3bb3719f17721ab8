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

xcpu_rows bias_of(const plug::Call& call, const OptionalTensor& bias, const char* name,
                  const xcpu_packed& weight) {
  if (bias) expect_sizes(*bias, name, {weight.n * (1 + weight.pair)});
  return rows_of(call, bias, name);
}

// Rows like those of the result.
xcpu_rows beside(const plug::Call& call, const OptionalTensor& tensor, const char* name,
                 const plug::Tensor& out) {
  if (tensor) expect_sizes(*tensor, name, out.sizes());
  return rows_of(call, tensor, name);
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
  args.bias = bias_of(call, bias, "bias", weight);
  return args;
}

void linear(plug::Call& call, plug::Tensor x, plug::Tensor weight, OptionalTensor bias,
            std::string_view activation, OptionalTensor mul, OptionalTensor residual,
            std::string_view precision, OptionalDtype /*dtype*/, plug::Out out) {
  const xcpu_packed packed = packed_of(weight, "weight");
  if (packed.pair != 0) refuse("weight is a pair: use xcpu::gate_up, or a weight of xcpu::pack");
  xcpu_linear_args args = linear_args(call, x, packed, bias, activation, precision);
  args.mul = beside(call, mul, "mul", out);
  args.residual = beside(call, residual, "residual", out);
  args.out = rows_of(call, out, "dtype").rows;
  run(call, args);
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

void gate_up(plug::Call& call, plug::Tensor x, plug::Tensor weight, OptionalTensor bias,
             std::string_view activation, OptionalTensor residual, std::string_view precision,
             OptionalDtype /*dtype*/, plug::Out out) {
  const xcpu_packed packed = packed_of(weight, "weight");
  if (packed.pair == 0) refuse("weight is one matrix: use xcpu::linear, or a weight of xcpu::pack_pair");
  xcpu_linear_args args = linear_args(call, x, packed, bias, activation, precision);
  args.residual = beside(call, residual, "residual", out);
  args.out = rows_of(call, out, "dtype").rows;
  run(call, args);
}

void mlp(plug::Call& call, plug::Tensor x, plug::Tensor up, plug::Tensor down, OptionalTensor up_bias,
         OptionalTensor down_bias, std::string_view activation, OptionalTensor residual,
         std::string_view precision, OptionalDtype /*dtype*/, plug::Out out) {
  xcpu_mlp_args args{};
  args.up.weight = packed_of(up, "up");
  args.down.weight = packed_of(down, "down");
  if (args.down.weight.pair != 0) refuse("down is a pair; it is a weight of xcpu::pack");
  if (args.down.weight.k != args.up.weight.n) {
    refuse("down takes " + std::to_string(args.down.weight.k) + " inputs, and up gives " +
           std::to_string(args.up.weight.n));
  }
  args.up.precision = args.down.precision = precision_of(precision);
  args.up.activation = activation_of(activation);
  const Rows rows = rows_of(call, x, "x");
  expect_inputs(x, "x", args.up.weight, "up");
  args.up.rows = args.down.rows = rows.count;
  args.up.x = rows.rows;
  args.up.bias = bias_of(call, up_bias, "up_bias", args.up.weight);
  args.up.out = {nullptr, between(args.down.weight, args.down.precision), args.up.weight.n};
  args.down.x = args.up.out;
  args.down.bias = bias_of(call, down_bias, "down_bias", args.down.weight);
  args.down.residual = beside(call, residual, "residual", out);
  args.down.out = rows_of(call, out, "dtype").rows;
  if (rows.count == 0) return;
  const plug::Scratch<char> scratch(call, xcpu_mlp_scratch(&args));
  check(xcpu_mlp(&args, scratch.data(), team()));
}

}  // namespace xcpu::plugin
