// The table of one instruction set's kernels.

#include "kernels.h"
#include "linear.h"

#define XCPU_TEXT(name) #name
#define XCPU_NAME(name) XCPU_TEXT(name)

namespace xcpu::XCPU_ISA {

extern const Kernels kKernels;
const Kernels kKernels = {XCPU_NAME(XCPU_ISA), kLinearKernels};

}  // namespace xcpu::XCPU_ISA
