#pragma once
// PyTorch's norms on the device, by the kernels of xcpu.h: layer norm, RMS norm and their backwards.

#include <optional>

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

void native_layer_norm(plug::Call& call, plug::Tensor input, plug::Ints normalized_shape,
                       std::optional<plug::Tensor> weight, std::optional<plug::Tensor> bias, double eps,
                       plug::Out out, plug::Out mean, plug::Out rstd);

void native_layer_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor input,
                                plug::Ints normalized_shape, plug::Tensor mean, plug::Tensor rstd,
                                std::optional<plug::Tensor> weight, std::optional<plug::Tensor> bias,
                                plug::Bools mask, std::optional<plug::Out> grad_input,
                                std::optional<plug::Out> grad_weight, std::optional<plug::Out> grad_bias);

void fused_rms_norm(plug::Call& call, plug::Tensor input, plug::Ints normalized_shape,
                    std::optional<plug::Tensor> weight, std::optional<double> eps, plug::Out out,
                    plug::Out rstd);

void fused_rms_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor input,
                             plug::Ints normalized_shape, plug::Tensor rstd,
                             std::optional<plug::Tensor> weight, plug::Bools mask,
                             std::optional<plug::Out> grad_input, std::optional<plug::Out> grad_weight);

}  // namespace xcpu::plugin
