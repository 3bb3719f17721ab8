#pragma once
// The kernels of attention in the instruction set that this file is compiled for, by xcpu_cache_kind.

#include "kernels.h"

namespace xcpu::XCPU_ISA {

extern const AttentionKernels kAttentionKernels[kCacheKinds];

}  // namespace xcpu::XCPU_ISA
