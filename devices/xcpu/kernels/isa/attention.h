#pragma once
// The kernels of attention in the instruction set that this file is compiled for, by xcpu_cache_kind.

#include "kernels.h"

namespace xcpu::XCPU_ISA {

extern const AttentionKernels kAttentionKernels[kCacheKinds];
extern const AttentionGradientKernels kAttentionGradientKernels[2];  // of fp32 and bf16

}  // namespace xcpu::XCPU_ISA
