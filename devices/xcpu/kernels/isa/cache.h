#pragma once
// The kernels of caches in the instruction set that this file is compiled for.

#include "kernels.h"

namespace xcpu::XCPU_ISA {

extern const CacheKernels kCacheKernels;

}  // namespace xcpu::XCPU_ISA
