#pragma once
// PyTorch's products of matrices on the device: linear, mm, addmm and bmm, of weights as they lie. Where the
// CPU is faster, it is asked for them; docs/xcpu.md says where.

#include <optional>

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

plug_status prepare_linear(const plug_call* call, void** state);
plug_status prepare_mm(const plug_call* call, void** state);
plug_status prepare_addmm(const plug_call* call, void** state);

void aten_linear(plug::Call& call, plug::Tensor input, plug::Tensor weight, std::optional<plug::Tensor> bias,
                 plug::Out out);
// Of aten::mm and aten::bmm.
void mm(plug::Call& call, plug::Tensor self, plug::Tensor mat2, plug::Out out);
void addmm(plug::Call& call, plug::Tensor self, plug::Tensor mat1, plug::Tensor mat2, plug::Scalar beta,
           plug::Scalar alpha, plug::Out out);

}  // namespace xcpu::plugin
