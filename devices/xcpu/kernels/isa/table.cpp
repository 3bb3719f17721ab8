// The table of one instruction set's kernels.

#include "attention.h"
#include "cache.h"
#include "kernels.h"
#include "linear.h"
#include "norm.h"
#include "plain.h"
#include "product.h"
#include "qkv.h"
#include "rotary.h"
#include "top.h"

#define XCPU_TEXT(name) #name
#define XCPU_NAME(name) XCPU_TEXT(name)

namespace xcpu::XCPU_ISA {

extern const Kernels kKernels;
const Kernels kKernels = {XCPU_NAME(XCPU_ISA), kLinearKernels, &kProductKernels,  &kNormKernels,
                          &kRotaryKernels,     &kCacheKernels, kAttentionKernels, kAttentionGradientKernels,
                          &kQkvKernels,        &kTopKernels,   &kPlainKernels};

}  // namespace xcpu::XCPU_ISA
