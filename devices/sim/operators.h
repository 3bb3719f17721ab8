#pragma once
// Operators of sim's own, torch.ops.sim.*: on the device and on CPU tensors.

#include "torchplug/plug.hpp"

namespace torchplug::sim {

// a x + y, for tensors of one shape and dtype.
inline constexpr char kAxpy[] = "sim::axpy(Tensor x, Tensor y, Scalar a=1) -> Tensor";
plug_status axpy(plug::Call& call, plug::Tensor x, plug::Tensor y, plug::Scalar a, plug::Out result);

inline constexpr char kScale[] = "sim::scale_(Tensor(a!) x, float by) -> ()";
plug_status scale_(plug::Call& call, plug::Out x, double by);

// Each tensor times its place in the list, which begins at 1.
inline constexpr char kRamp[] = "sim::ramp(Tensor[] xs) -> Tensor[]";
plug_status ramp(plug::Call& call, plug::Tensors xs, plug::Outs results);

}  // namespace torchplug::sim
