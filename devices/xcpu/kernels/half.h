#pragma once
// The floating types of 16 bits, which this C++ has no names for, as fp32 and back: rounded to the nearest,
// ties to even. Not for files of isa/, which have their own.

#include <bit>
#include <cstdint>

#include "xcpu/xcpu.h"

namespace xcpu {

inline float from_bf16(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return 0x7FC0;  // NaN
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

inline float from_f16(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
  const std::uint32_t exponent = (half >> 10) & 31U;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24F;
  return sign != 0 ? -small : small;
}

inline std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  const auto with_sign = [sign](std::uint32_t half) { return static_cast<std::uint16_t>(sign | half); };
  if (size > 0x7F800000U) return with_sign(0x7E00);   // NaN
  if (size >= 0x477FF000U) return with_sign(0x7C00);  // rounds to infinity
  if (size < 0x38800000U) {
    // Below 2^-14 a step is 2^-24, which is that of the floats from 0.5 on: the addition rounds.
    const float sum = std::bit_cast<float>(size) + 0.5F;
    return with_sign(std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5F));
  }
  return with_sign(((size + 0xFFFU + (size >> 13 & 1U)) >> 13) - (112U << 10));
}

inline float element_at(const void* data, xcpu_dtype dtype, std::int64_t at) {
  switch (dtype) {
    case XCPU_BF16: return from_bf16(static_cast<const std::uint16_t*>(data)[at]);
    case XCPU_F16: return from_f16(static_cast<const std::uint16_t*>(data)[at]);
    default: return static_cast<const float*>(data)[at];
  }
}

inline void set_element(void* data, xcpu_dtype dtype, std::int64_t at, float value) {
  switch (dtype) {
    case XCPU_BF16: static_cast<std::uint16_t*>(data)[at] = to_bf16(value); return;
    case XCPU_F16: static_cast<std::uint16_t*>(data)[at] = to_f16(value); return;
    default: static_cast<float*>(data)[at] = value;
  }
}

}  // namespace xcpu
