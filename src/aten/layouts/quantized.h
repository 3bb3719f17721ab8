#pragma once
// Operators on quantized tensors of the device (aten/tensor/quantizer.h).
// What only makes a tensor or looks at its scheme is PyTorch's own code; every other operator is the
// CPU's, on borrowed or staged memory. It waits for the stream, and so do the calls behind it.

#include "base/namespaces.h"

namespace torchplug::aten {

void register_quantized_operators();

}  // namespace torchplug::aten
