#pragma once
// An operator whose result has a size that only its input's elements tell: it waits for its stream.

#include "torchplug/plug.hpp"

namespace torchplug::sim {

plug_status nonzero(plug::Call& call, plug::Tensor self, plug::Unshaped result);

}  // namespace torchplug::sim
