#pragma once
// Rows in memory, of whichever element type, as vectors of fp32.

#include "math.h"
#include "xcpu/xcpu.h"

namespace xcpu::XCPU_ISA {

XCPU_INLINE std::int64_t smaller_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
XCPU_INLINE std::int64_t larger_of(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// Elements from `at` of a buffer.
XCPU_INLINE Floats load_any(const void* data, xcpu_dtype dtype, std::int64_t at, Mask mask) {
  switch (dtype) {
    case XCPU_BF16: return load_bf16(static_cast<const std::uint16_t*>(data) + at, mask);
    case XCPU_F16: return load_f16(static_cast<const std::uint16_t*>(data) + at, mask);
    default: return load(static_cast<const float*>(data) + at, mask);
  }
}

XCPU_INLINE void store_any(void* data, xcpu_dtype dtype, std::int64_t at, Floats values, Mask mask) {
  switch (dtype) {
    case XCPU_BF16: return store_bf16(static_cast<std::uint16_t*>(data) + at, values, mask);
    case XCPU_F16: return store_f16(static_cast<std::uint16_t*>(data) + at, values, mask);
    default: return store(static_cast<float*>(data) + at, values, mask);
  }
}

XCPU_INLINE Floats activate(xcpu_activation activation, Floats x) {
  switch (activation) {
    case XCPU_RELU: return larger(fill(0.0F), x);  // the second of the two, so a NaN stays
    case XCPU_GELU: return gelu(x);
    case XCPU_GELU_TANH: return gelu_tanh(x);
    case XCPU_SILU: return silu(x);
    default: return x;
  }
}

}  // namespace xcpu::XCPU_ISA
