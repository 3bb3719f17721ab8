#pragma once
// What the outputs of an operator would look like, told by the CPU's kernel on zeros that look like the
// arguments. Exact, unlike meta kernels, some of which give other strides; and it takes the time and the
// memory of the host's that such a call takes there. The device is not involved.

#include <optional>

#include "aten/plan/shape.h"

namespace torchplug::aten {

// Nothing if the CPU has no kernel. Throws what it refuses.
std::optional<CallShape> shape_on_zeros(const OperatorFacts& facts, Arguments arguments);

}  // namespace torchplug::aten
