#pragma once
// Nested tensors of the device in the strided layout: one buffer on the device, and where each part lies in
// it. What looks at the parts is PyTorch's own code; every other operator is the CPU's, on copies of the
// whole. Those in the jagged layout are Python's, made of plain tensors, and need nothing here.

#include "base/operator_library.h"

namespace torchplug::aten {

// What makes a nested tensor of a plain one, in the library of the device's key.
void add_nested_views(OperatorLibrary& library);
void register_nested_operators();

}  // namespace torchplug::aten
