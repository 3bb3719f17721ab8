#pragma once
// The kernels of finding the largest outputs in the instruction set that this file is compiled for.

#include "kernels.h"

namespace xcpu::XCPU_ISA {

extern const TopKernels kTopKernels;

}  // namespace xcpu::XCPU_ISA
