#pragma once
// The two floating types of 16 bits, which this C++ has no names for, as float32 and back: rounded to the
// nearest, ties to even.

#include <bit>
#include <cstdint>

namespace torchplug::sim {

struct Float16 {
  std::uint16_t bits;
};

struct BFloat16 {
  std::uint16_t bits;
};

inline float to_float(BFloat16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

inline float to_float(Float16 value) {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000U} << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 31U;
  const std::uint32_t fraction = value.bits & 0x3FFU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24F;
  return sign != 0 ? -small : small;
}

template <class Half>
Half from_float(float value);

template <>
inline BFloat16 from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {0x7FC0};  // NaN
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16)};
}

template <>
inline Float16 from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  const auto with_sign = [sign](std::uint32_t half) -> Float16 {
    return {static_cast<std::uint16_t>(sign | half)};
  };
  if (size > 0x7F800000U) return with_sign(0x7E00);   // NaN
  if (size >= 0x477FF000U) return with_sign(0x7C00);  // rounds to infinity
  if (size < 0x38800000U) {
    // Below 2^-14 a step is 2^-24, which is that of the floats from 0.5 on: the addition rounds.
    const float sum = std::bit_cast<float>(size) + 0.5F;
    return with_sign(std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5F));
  }
  return with_sign(((size + 0xFFFU + (size >> 13 & 1U)) >> 13) - (112U << 10));
}

}  // namespace torchplug::sim
