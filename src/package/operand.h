#pragma once
// Arguments of steps as PyTorch's operators take them.

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "package/frame.h"

namespace torchplug::package {

// Whether it is the same in every call.
bool is_fixed(const Argument& argument);

// For a parameter of that type, on `device` where it is one. Throws for an argument that no such parameter
// takes.
c10::IValue operand_of(const Argument& argument, const c10::TypePtr& type, const Frame& frame,
                       c10::Device device);

}  // namespace torchplug::package
