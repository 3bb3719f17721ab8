#pragma once
// Operators on lists of tensors of float32 or float64: one piece of work for all of them.

#include "torchplug/plug.hpp"

namespace torchplug::sim {

plug_status foreach_add(plug::Call& call, plug::Tensors self, plug::Tensors other, plug::Scalar alpha,
                        plug::Outs results);
plug_status foreach_add_scalar(plug::Call& call, plug::Tensors self, plug::Scalar scalar, plug::Outs results);
plug_status foreach_mul_scalar(plug::Call& call, plug::Tensors self, plug::Scalar scalar, plug::Outs results);

plug_status foreach_add_(plug::Call& call, plug::Outs self, plug::Tensors other, plug::Scalar alpha);
plug_status foreach_add_scalar_(plug::Call& call, plug::Outs self, plug::Scalar scalar);
plug_status foreach_mul_scalar_(plug::Call& call, plug::Outs self, plug::Scalar scalar);

}  // namespace torchplug::sim
