#pragma once
// Arithmetic on sizes and strides, without a tensor.

#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::aten {

// Whether the strides lay the sizes out without gaps or overlap, in whatever order.
bool is_dense(c10::IntArrayRef sizes, c10::IntArrayRef strides);

// Whether both strides mean the same: they only matter where there is more than one element to step to.
bool same_strides(c10::IntArrayRef sizes, c10::IntArrayRef a, c10::IntArrayRef b);

// The order of dimensions, outermost first, in which dense strides are contiguous.
std::vector<int64_t> contiguous_order(c10::IntArrayRef strides);

}  // namespace torchplug::aten
