#pragma once
// The kernels of products of matrices as they lie, in the instruction set that this file is compiled for.

#include "kernels.h"

namespace xcpu::XCPU_ISA {

extern const ProductKernels kProductKernels;

}  // namespace xcpu::XCPU_ISA
