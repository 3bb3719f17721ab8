#pragma once
// RMS norm and layer norm along the last dimension, also of a sum with a residual, which is a result too.
// What they save for backward is what was normalised: a row's moments are computed again.

#include <optional>

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

inline constexpr const char* kRmsNorm =
    "xcpu::rms_norm(Tensor x, Tensor? weight=None, float eps=1e-6, bool plus_one=False) -> Tensor";
void rms_norm(plug::Call& call, plug::Tensor x, std::optional<plug::Tensor> weight, double eps, bool plus_one,
              plug::Out out);

inline constexpr const char* kLayerNorm =
    "xcpu::layer_norm(Tensor x, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> Tensor";
void layer_norm(plug::Call& call, plug::Tensor x, std::optional<plug::Tensor> weight,
                std::optional<plug::Tensor> bias, double eps, plug::Out out);

// The norm of x + residual, and that sum in the residual's dtype.
inline constexpr const char* kAddRmsNorm =
    "xcpu::add_rms_norm(Tensor x, Tensor residual, Tensor? weight=None, float eps=1e-6, "
    "bool plus_one=False) -> (Tensor, Tensor)";
void add_rms_norm(plug::Call& call, plug::Tensor x, plug::Tensor residual, std::optional<plug::Tensor> weight,
                  double eps, bool plus_one, plug::Out out, plug::Out sum);

inline constexpr const char* kAddLayerNorm =
    "xcpu::add_layer_norm(Tensor x, Tensor residual, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-5) -> (Tensor, Tensor)";
void add_layer_norm(plug::Call& call, plug::Tensor x, plug::Tensor residual,
                    std::optional<plug::Tensor> weight, std::optional<plug::Tensor> bias, double eps,
                    plug::Out out, plug::Out sum);

// The gradients of x, weight and bias. Those of an argument that is absent are zeros.
inline constexpr const char* kRmsNormBackward =
    "xcpu::rms_norm_backward(Tensor grad, Tensor x, Tensor? weight, float eps, bool plus_one) -> "
    "(Tensor, Tensor)";
void rms_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor x,
                       std::optional<plug::Tensor> weight, double eps, bool plus_one, plug::Out grad_x,
                       plug::Out grad_weight);

inline constexpr const char* kLayerNormBackward =
    "xcpu::layer_norm_backward(Tensor grad, Tensor x, Tensor? weight, Tensor? bias, float eps) -> "
    "(Tensor, Tensor, Tensor)";
void layer_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor x,
                         std::optional<plug::Tensor> weight, std::optional<plug::Tensor> bias, double eps,
                         plug::Out grad_x, plug::Out grad_weight, plug::Out grad_bias);

// The gradients of x, residual, weight and bias: those of x and residual are equal.
inline constexpr const char* kAddRmsNormBackward =
    "xcpu::add_rms_norm_backward(Tensor grad, Tensor grad_sum, Tensor sum, Tensor? weight, float eps, "
    "bool plus_one) -> (Tensor, Tensor, Tensor)";
void add_rms_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor grad_sum, plug::Tensor sum,
                           std::optional<plug::Tensor> weight, double eps, bool plus_one, plug::Out grad_x,
                           plug::Out grad_residual, plug::Out grad_weight);

inline constexpr const char* kAddLayerNormBackward =
    "xcpu::add_layer_norm_backward(Tensor grad, Tensor grad_sum, Tensor sum, Tensor? weight, Tensor? bias, "
    "float eps) -> (Tensor, Tensor, Tensor, Tensor)";
void add_layer_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor grad_sum, plug::Tensor sum,
                             std::optional<plug::Tensor> weight, std::optional<plug::Tensor> bias, double eps,
                             plug::Out grad_x, plug::Out grad_residual, plug::Out grad_weight,
                             plug::Out grad_bias);

}  // namespace xcpu::plugin
