#pragma once
// PyTorch's softmax on the device, its logarithm, and their gradients: along the last dimension.

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

void softmax(plug::Call& call, plug::Tensor self, std::int64_t dim, bool half_to_float, plug::Out result);
void log_softmax(plug::Call& call, plug::Tensor self, std::int64_t dim, bool half_to_float, plug::Out result);
void softmax_backward(plug::Call& call, plug::Tensor grad, plug::Tensor output, std::int64_t dim,
                      plug::Dtype input_dtype, plug::Out result);
void log_softmax_backward(plug::Call& call, plug::Tensor grad, plug::Tensor output, std::int64_t dim,
                          plug::Dtype input_dtype, plug::Out result);

}  // namespace xcpu::plugin
