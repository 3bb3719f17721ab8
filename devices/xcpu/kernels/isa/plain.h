#pragma once
// The kernels of plain operators in the instruction set that this file is compiled for.

#include "kernels.h"

namespace xcpu::XCPU_ISA {

extern const PlainKernels kPlainKernels;

}  // namespace xcpu::XCPU_ISA
