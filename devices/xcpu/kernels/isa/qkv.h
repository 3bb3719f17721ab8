#pragma once
// The kernels of splitting queries, keys and values in the instruction set that this file is compiled for.

#include "kernels.h"

namespace xcpu::XCPU_ISA {

extern const QkvKernels kQkvKernels;

}  // namespace xcpu::XCPU_ISA
