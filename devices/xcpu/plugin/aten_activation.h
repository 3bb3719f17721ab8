#pragma once
// PyTorch's activations on the device, gelu and silu, and their gradients.

#include <string_view>

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

void gelu(plug::Call& call, plug::Tensor self, std::string_view approximate, plug::Out result);
void gelu_backward(plug::Call& call, plug::Tensor grad, plug::Tensor self, std::string_view approximate,
                   plug::Out result);
void silu(plug::Call& call, plug::Tensor self, plug::Out result);
void silu_backward(plug::Call& call, plug::Tensor grad, plug::Tensor self, plug::Out result);

}  // namespace xcpu::plugin
