#pragma once
// Products of small matrices of float32, where the call costs more than the product. Larger ones are
// PyTorch's, whose library for them no loop of a compiler's reaches.

#include "torchplug/plug.hpp"

namespace torchplug::sim {

plug_status mm(plug::Call& call, plug::Tensor self, plug::Tensor mat2, plug::Out result);
plug_status addmm(plug::Call& call, plug::Tensor self, plug::Tensor mat1, plug::Tensor mat2,
                  plug::Scalar beta, plug::Scalar alpha, plug::Out result);

// Once for all calls with these sizes: whether they are small enough.
plug_status prepare_matmul(const plug_call* call, void** state);

}  // namespace torchplug::sim
