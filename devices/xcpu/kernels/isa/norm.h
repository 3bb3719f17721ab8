#pragma once
// The kernels of norms in the instruction set that this file is compiled for.

#include "kernels.h"

namespace xcpu::XCPU_ISA {

extern const NormKernels kNormKernels;

}  // namespace xcpu::XCPU_ISA
