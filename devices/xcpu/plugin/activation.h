#pragma once
// The functions that a linear may end with, by their names, and their slopes.

#include <cstdint>
#include <string_view>

#include "xcpu/xcpu.h"

namespace xcpu::plugin {

xcpu_activation activation_of(std::string_view word);

// Of a row of n: out = grad * mul * the slope of the activation at sums. mul may be absent.
void slope_of_row(xcpu_activation activation, const float* sums, const xcpu_rows& grad, const xcpu_rows& mul,
                  const xcpu_rows& out, std::int64_t row, std::int64_t n);

}  // namespace xcpu::plugin
