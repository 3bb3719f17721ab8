#pragma once
// What becomes of a tile of sums: bias, activation, factor, residual, and its place in the result.

#include "kernels.h"
#include "memory.h"

namespace xcpu::XCPU_ISA {

XCPU_INLINE Floats add_bias(const Linear& linear, Floats sum, std::int64_t column, Mask mask) {
  if (linear.bias.data == nullptr) return sum;
  return add(sum, load_any(linear.bias.data, linear.bias.dtype, column, mask));
}

XCPU_INLINE Floats activated(const Linear& linear, const float* sums, std::int64_t column, Mask mask) {
  const Mask all = first_lanes(kLanes);
  const Floats value = activate(linear.activation, add_bias(linear, load(sums, all), column, mask));
  if (!linear.is_pair) return value;
  return multiply(value, add_bias(linear, load(sums + kHalfColumns, all), linear.outputs + column, mask));
}

XCPU_INLINE void finish_row(const Linear& linear, const float* sums, std::int64_t row, std::int64_t column,
                            std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const Mask mask = first_lanes(count - i);
    Floats value = activated(linear, sums + i, column + i, mask);
    if (linear.mul.data != nullptr) {
      const std::int64_t at = row * linear.mul.stride + column + i;
      value = multiply(value, load_any(linear.mul.data, linear.mul.dtype, at, mask));
    }
    if (linear.residual.data != nullptr) {
      const std::int64_t at = row * linear.residual.stride + column + i;
      value = add(value, load_any(linear.residual.data, linear.residual.dtype, at, mask));
    }
    store_any(linear.out.data, linear.out.dtype, row * linear.out.stride + column + i, value, mask);
  }
}

inline void finish_tile(const Linear& linear, const float* tile, std::int64_t first_row, std::int64_t rows,
                        std::int64_t panel) {
  const std::int64_t width = linear.is_pair ? kHalfColumns : kPanelColumns;
  const std::int64_t column = panel * width;
  const std::int64_t count = smaller_of(width, linear.outputs - column);
  for (std::int64_t r = 0; r < rows; ++r) {
    finish_row(linear, tile + r * kPanelColumns, first_row + r, column, count);
  }
}

}  // namespace xcpu::XCPU_ISA
