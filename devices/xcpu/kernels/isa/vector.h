#pragma once
// Vectors of fp32 and of 32-bit words in the instruction set that this file is compiled for: kLanes of each,
// and masks that say how many of the first lanes there are. Files of this folder are compiled once for each
// instruction set; all they define lies in a namespace of its name, and they use no function template of the
// standard library: the linker would keep one copy of it for everybody, maybe one that not every machine can
// run.

#include <cstdint>

// An inline function that is never emitted.
#define XCPU_INLINE __attribute__((always_inline)) inline

#if defined(__AVX512F__)
#include "vector_avx512.h"
#elif defined(__AVX2__)
#include "vector_avx2.h"
#else
#include "vector_scalar.h"
#endif
