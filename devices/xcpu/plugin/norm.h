#pragma once
// RMS norm and layer norm along the last dimension, also of a sum with a residual, which is a result too.
// What they save for backward is what was normalised: a row's moments are computed again.

#include <optional>

#include "arguments.h"
#include "torchplug/plug.hpp"
#include "xcpu/xcpu.h"

namespace xcpu::plugin {

// What calls that look alike have in common, checked: all but addresses and epsilon.
struct NormPlan {
  xcpu_norm_args args;
  Rows x, residual, weight, bias, out, sum;
  const xcpu_team* team;
};

inline constexpr const char* kRmsNorm =
    "xcpu::rms_norm(Tensor x, Tensor? weight=None, float eps=1e-6, bool plus_one=False) -> Tensor";
NormPlan plan_rms_norm(plug::Call& call, plug::Tensor x, OptionalTensor weight, double eps, bool plus_one,
                       plug::Out out);
void rms_norm(plug::Call& call, const NormPlan& plan, plug::Tensor x, OptionalTensor weight, double eps,
              bool plus_one, plug::Out out);

inline constexpr const char* kLayerNorm =
    "xcpu::layer_norm(Tensor x, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> Tensor";
NormPlan plan_layer_norm(plug::Call& call, plug::Tensor x, OptionalTensor weight, OptionalTensor bias,
                         double eps, plug::Out out);
void layer_norm(plug::Call& call, const NormPlan& plan, plug::Tensor x, OptionalTensor weight,
                OptionalTensor bias, double eps, plug::Out out);

// The norm of x + residual, and that sum in the residual's dtype.
inline constexpr const char* kAddRmsNorm =
    "xcpu::add_rms_norm(Tensor x, Tensor residual, Tensor? weight=None, float eps=1e-6, "
    "bool plus_one=False) -> (Tensor, Tensor)";
NormPlan plan_add_rms_norm(plug::Call& call, plug::Tensor x, plug::Tensor residual, OptionalTensor weight,
                           double eps, bool plus_one, plug::Out out, plug::Out sum);
void add_rms_norm(plug::Call& call, const NormPlan& plan, plug::Tensor x, plug::Tensor residual,
                  OptionalTensor weight, double eps, bool plus_one, plug::Out out, plug::Out sum);

inline constexpr const char* kAddLayerNorm =
    "xcpu::add_layer_norm(Tensor x, Tensor residual, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-5) -> (Tensor, Tensor)";
NormPlan plan_add_layer_norm(plug::Call& call, plug::Tensor x, plug::Tensor residual, OptionalTensor weight,
                             OptionalTensor bias, double eps, plug::Out out, plug::Out sum);
void add_layer_norm(plug::Call& call, const NormPlan& plan, plug::Tensor x, plug::Tensor residual,
                    OptionalTensor weight, OptionalTensor bias, double eps, plug::Out out, plug::Out sum);

// The gradients of x, weight and bias, of which those come that are wanted. That of an argument that is
// absent is zeros.
inline constexpr const char* kRmsNormBackward =
    "xcpu::rms_norm_backward(Tensor grad, Tensor x, Tensor? weight, float eps, bool plus_one, "
    "bool[2] wanted) -> (Tensor, Tensor)";
void rms_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor x, OptionalTensor weight, double eps,
                       bool plus_one, plug::Bools wanted, OptionalOut grad_x, OptionalOut grad_weight);

inline constexpr const char* kLayerNormBackward =
    "xcpu::layer_norm_backward(Tensor grad, Tensor x, Tensor? weight, Tensor? bias, float eps, "
    "bool[3] wanted) -> (Tensor, Tensor, Tensor)";
void layer_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor x, OptionalTensor weight,
                         OptionalTensor bias, double eps, plug::Bools wanted, OptionalOut grad_x,
                         OptionalOut grad_weight, OptionalOut grad_bias);

// The gradients of x, residual, weight and bias: those of x and residual are equal.
inline constexpr const char* kAddRmsNormBackward =
    "xcpu::add_rms_norm_backward(Tensor grad, Tensor grad_sum, Tensor sum, Tensor? weight, float eps, "
    "bool plus_one, bool[3] wanted) -> (Tensor, Tensor, Tensor)";
void add_rms_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor grad_sum, plug::Tensor sum,
                           OptionalTensor weight, double eps, bool plus_one, plug::Bools wanted,
                           OptionalOut grad_x, OptionalOut grad_residual, OptionalOut grad_weight);

inline constexpr const char* kAddLayerNormBackward =
    "xcpu::add_layer_norm_backward(Tensor grad, Tensor grad_sum, Tensor sum, Tensor? weight, Tensor? bias, "
    "float eps, bool[4] wanted) -> (Tensor, Tensor, Tensor, Tensor)";
void add_layer_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor grad_sum, plug::Tensor sum,
                             OptionalTensor weight, OptionalTensor bias, double eps, plug::Bools wanted,
                             OptionalOut grad_x, OptionalOut grad_residual, OptionalOut grad_weight,
                             OptionalOut grad_bias);

}  // namespace xcpu::plugin
