#pragma once
// The functions that a linear may end with, by their names, and what their gradients are multiplied by.

#include <cstdint>
#include <string_view>

#include "xcpu/xcpu.h"

namespace xcpu::plugin {

xcpu_activation activation_of(std::string_view word);

// Of a row of n: out = grad * mul. mul may be absent.
void multiply_row(const xcpu_rows& grad, const xcpu_rows& mul, const xcpu_rows& out, std::int64_t row,
                  std::int64_t n);

}  // namespace xcpu::plugin
