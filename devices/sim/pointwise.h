#pragma once
// Operators that compute each element of their result from one element of each input. Their results are those
// of PyTorch's CPU kernels bit for bit, except that of two NaN inputs either may be the one returned.

#include "torchplug/plug.hpp"

namespace torchplug::sim {

plug_status add(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Scalar alpha,
                plug::Out result);
plug_status sub(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Scalar alpha,
                plug::Out result);
plug_status mul(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Out result);
plug_status div(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Out result);
plug_status maximum(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Out result);
plug_status minimum(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Out result);
plug_status relu(plug::Call& call, plug::Tensor self, plug::Out result);
plug_status neg(plug::Call& call, plug::Tensor self, plug::Out result);
plug_status where(plug::Call& call, plug::Tensor condition, plug::Tensor self, plug::Tensor other,
                  plug::Out result);

}  // namespace torchplug::sim
