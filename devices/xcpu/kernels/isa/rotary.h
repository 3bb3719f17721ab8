#pragma once
// The kernels of rotary embedding in the instruction set that this file is compiled for.

#include "kernels.h"

namespace xcpu::XCPU_ISA {

extern const RotaryKernels kRotaryKernels;

}  // namespace xcpu::XCPU_ISA
