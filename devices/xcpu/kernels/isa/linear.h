#pragma once
// The kernels of linear in the instruction set that this file is compiled for, by LinearForm.

#include "kernels.h"

namespace xcpu::XCPU_ISA {

extern const LinearKernels kLinearKernels[kLinearForms];

}  // namespace xcpu::XCPU_ISA
