#pragma once
// Functions of vectors: within a few units in the last place of fp32, infinities and NaN as in PyTorch.

#include "vector.h"

namespace xcpu::XCPU_ISA {

// Of -infinity 0, above 88.7 infinity.
XCPU_INLINE Floats exponential(Floats x) {
  // Beyond these it is 0 and infinity anyway; a NaN stays, as the second of the two.
  const Floats bounded = smaller(fill(90.0F), larger(fill(-105.0F), x));
  const Floats power = round_to_nearest(multiply(bounded, fill(0x1.715476p+0F)));
  // ln 2 in two parts, of which the first has few bits.
  const Floats rest =
      multiply_add(power, fill(-0x1.7f7d1cp-20F), multiply_add(power, fill(-0x1.62e4p-1F), bounded));
  Floats value = fill(0x1.6850e4p-10F);
  value = multiply_add(value, rest, fill(0x1.123bccp-7F));
  value = multiply_add(value, rest, fill(0x1.555b98p-5F));
  value = multiply_add(value, rest, fill(0x1.55548ep-3F));
  value = multiply_add(value, rest, fill(0x1.fffff8p-2F));
  value = multiply_add(multiply(value, rest), rest, add(rest, fill(1.0F)));
  return scale_by_power(value, power);
}

// x / (1 + exp(-factor * x))
XCPU_INLINE Floats times_sigmoid(Floats x, Floats argument) {
  return divide(x, add(fill(1.0F), exponential(subtract(fill(0.0F), argument))));
}

XCPU_INLINE Floats silu(Floats x) { return times_sigmoid(x, x); }

// x / 2 * (1 + tanh(u)) is x * sigmoid(2 u), which loses nothing where tanh is near -1.
XCPU_INLINE Floats gelu_tanh(Floats x) {
  const Floats cubic = multiply_add(multiply(x, x), fill(0.044715F), fill(1.0F));
  return times_sigmoid(x, multiply(multiply(x, cubic), fill(1.5957691216057308F)));
}

// x * Phi(x), by a fraction of the complementary error function whose relative error is below 1.2e-7
// everywhere (Numerical Recipes, erfcc): where x is far below zero, 1 + erf would have no digits left.
XCPU_INLINE Floats gelu(Floats x) {
  const Floats z = multiply(absolute(x), fill(0.70710678118654752F));
  const Floats t = divide(fill(1.0F), multiply_add(z, fill(0.5F), fill(1.0F)));
  constexpr float kCoefficients[] = {-0.82215223F, 1.48851587F, -1.13520398F, 0.27886807F, -0.18628806F,
                                     0.09678418F,  0.37409196F, 1.00002368F,  -1.26551223F};
  Floats polynomial = fill(0.17087277F);
  for (const float coefficient : kCoefficients) {
    polynomial = multiply_add(polynomial, t, fill(coefficient));
  }
  const Floats exponent = subtract(polynomial, multiply(z, z));
  const Floats half_of_tail = multiply(multiply(t, exponential(exponent)), fill(0.5F));
  return multiply(x, select_less(x, fill(0.0F), half_of_tail, subtract(fill(1.0F), half_of_tail)));
}

}  // namespace xcpu::XCPU_ISA
