#pragma once
// Linears with packed weights, and what their gradients are computed by. A packed weight is frozen: it has
// none.

#include <optional>
#include <string_view>

#include "arguments.h"
#include "torchplug/plug.hpp"
#include "xcpu/xcpu.h"

namespace xcpu::plugin {

using OptionalDtype = std::optional<plug::Dtype>;

// What calls that look alike have in common, checked: all but addresses.
struct LinearPlan {
  xcpu_linear_args args;
  Rows x, bias, mul, residual, out;
  std::int64_t scratch_bytes;
  const xcpu_team* team;
};
struct MlpPlan {
  xcpu_mlp_args args;
  Rows x, up_bias, down_bias, residual, out;
  std::int64_t scratch_bytes;
};

// activation(x weight' + bias) * mul + residual
inline constexpr const char* kLinear =
    "xcpu::linear(Tensor x, Tensor weight, Tensor? bias=None, *, str activation=\"none\", Tensor? mul=None, "
    "Tensor? residual=None, str precision=\"int8\", ScalarType? dtype=None) -> Tensor";
LinearPlan plan_linear(plug::Call& call, plug::Tensor x, plug::Tensor weight, OptionalTensor bias,
                       std::string_view activation, OptionalTensor mul, OptionalTensor residual,
                       std::string_view precision, OptionalDtype dtype, plug::Out out);
void linear(plug::Call& call, const LinearPlan& plan, plug::Tensor x, plug::Tensor weight,
            OptionalTensor bias, std::string_view activation, OptionalTensor mul, OptionalTensor residual,
            std::string_view precision, OptionalDtype dtype, plug::Out out);

// The gradient of x weight' + bias within the above.
inline constexpr const char* kLinearGrad =
    "xcpu::linear_grad(Tensor grad, Tensor x, Tensor weight, Tensor? bias, Tensor? mul, str activation, "
    "str precision) -> Tensor";
void linear_grad(plug::Call& call, plug::Tensor grad, plug::Tensor x, plug::Tensor weight,
                 OptionalTensor bias, OptionalTensor mul, std::string_view activation,
                 std::string_view precision, plug::Out out);

// activation(x gate' + bias[:n]) * (x up' + bias[n:]) + residual
inline constexpr const char* kGateUp =
    "xcpu::gate_up(Tensor x, Tensor weight, Tensor? bias=None, *, str activation=\"silu\", "
    "Tensor? residual=None, str precision=\"int8\", ScalarType? dtype=None) -> Tensor";
LinearPlan plan_gate_up(plug::Call& call, plug::Tensor x, plug::Tensor weight, OptionalTensor bias,
                        std::string_view activation, OptionalTensor residual, std::string_view precision,
                        OptionalDtype dtype, plug::Out out);
void gate_up(plug::Call& call, const LinearPlan& plan, plug::Tensor x, plug::Tensor weight,
             OptionalTensor bias, std::string_view activation, OptionalTensor residual,
             std::string_view precision, OptionalDtype dtype, plug::Out out);

// linear(gate_up(x, up), down), or linear(linear(x, up), down) where `up` is no pair; + residual
inline constexpr const char* kMlp =
    "xcpu::mlp(Tensor x, Tensor up, Tensor down, Tensor? up_bias=None, Tensor? down_bias=None, *, "
    "str activation=\"silu\", Tensor? residual=None, str precision=\"int8\", ScalarType? dtype=None) -> "
    "Tensor";
MlpPlan plan_mlp(plug::Call& call, plug::Tensor x, plug::Tensor up, plug::Tensor down, OptionalTensor up_bias,
                 OptionalTensor down_bias, std::string_view activation, OptionalTensor residual,
                 std::string_view precision, OptionalDtype dtype, plug::Out out);
void mlp(plug::Call& call, const MlpPlan& plan, plug::Tensor x, plug::Tensor up, plug::Tensor down,
         OptionalTensor up_bias, OptionalTensor down_bias, std::string_view activation,
         OptionalTensor residual, std::string_view precision, OptionalDtype dtype, plug::Out out);

// What every call with a weight has: x, the weight, the bias and how they are multiplied.
xcpu_linear_args linear_args(const plug::Call& call, const plug::Tensor& x, const xcpu_packed& weight,
                             const OptionalTensor& bias, std::string_view activation,
                             std::string_view precision);

}  // namespace xcpu::plugin
