#pragma once
// Functions of float32 that vectorise, to two units in the last place of the value: NaN, infinities and
// results below the normal range included.

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "vectors.h"

namespace torchplug::sim {

struct Exp {
  SIM_INLINE float operator()(float x) const {
    // Beyond these the result is infinite, or 0; the comparisons let NaN through.
    const float most = x > 88.8F ? 88.8F : x;
    const float kept = most < -104.0F ? -104.0F : most;
    const float n = std::floor(kept * std::numbers::log2e_v<float> + 0.5F);
    // kept = n ln 2 + r, with ln 2 in two parts, of which n times the first is exact.
    const float r = (kept - n * 0.693359375F) - n * -2.12194440e-4F;  // NOLINT(modernize-use-std-numbers)
    float p = 1.9875691500e-4F;
    for (const float c : {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 0.5F})
      p = p * r + c;
    p = p * r * r + r + 1.0F;
    // In two steps, since 2^n alone may be below or above what a float holds.
    const auto whole = static_cast<std::int32_t>(n == n ? n : 0.0F);
    const std::int32_t half = whole >> 1;
    return p * power(half) * power(whole - half);
  }

 private:
  static SIM_INLINE float power(std::int32_t n) { return std::bit_cast<float>((n + 127) << 23); }
};

struct Sigmoid {
  SIM_INLINE float operator()(float x) const { return 1.0F / (1.0F + Exp()(-x)); }
};

struct Tanh {
  SIM_INLINE float operator()(float x) const {
    const float size = x < 0 ? -x : x;
    // Near 0 a polynomial, since the other way leaves no digits there.
    const float z = x * x;
    float p = -5.70498872745e-3F;
    for (const float c : {2.06390887954e-2F, -5.37397155531e-2F, 1.33314422036e-1F, -3.33332819422e-1F})
      p = p * z + c;
    const float near = p * z * x + x;
    const float far = 1.0F - 2.0F / (Exp()(2.0F * size) + 1.0F);
    const float signed_far = x < 0 ? -far : far;
    return size < 0.625F ? near : signed_far;
  }
};

struct Sqrt {
  SIM_INLINE float operator()(float x) const { return std::sqrt(x); }
};

}  // namespace torchplug::sim
