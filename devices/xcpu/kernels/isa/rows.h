#pragma once
// Loops over rows in memory. Where all operands have one element type, the loop is compiled for it.

#include "memory.h"

namespace xcpu::XCPU_ISA {

constexpr int kAnyDtype = -1;

template <int kDtype>
XCPU_INLINE Floats load_as(const xcpu_rows& rows, std::int64_t at, Mask mask) {
  if constexpr (kDtype == kAnyDtype) {
    return load_any(rows.data, rows.dtype, at, mask);
  } else {
    return load_any(rows.data, static_cast<xcpu_dtype>(kDtype), at, mask);
  }
}
template <int kDtype>
XCPU_INLINE void store_as(const xcpu_rows& rows, std::int64_t at, Floats values, Mask mask) {
  if constexpr (kDtype == kAnyDtype) {
    store_any(rows.data, rows.dtype, at, values, mask);
  } else {
    store_any(rows.data, static_cast<xcpu_dtype>(kDtype), at, values, mask);
  }
}

// What all that are present have; kAnyDtype where they differ.
template <class... More>
XCPU_INLINE int common_dtype(const xcpu_rows& first, const More&... more) {
  const int dtype = first.dtype;
  const bool is_common = (true && ... && (more.data == nullptr || int{more.dtype} == dtype));
  return is_common && (dtype == XCPU_F32 || dtype == XCPU_BF16) ? dtype : kAnyDtype;
}

// Calls function(turn, at, mask) for every vector of a row; turn is 0 to 3, so that as many sums can grow
// side by side. Whole vectors have a mask that the compiler knows: others make storing several times slower.
template <class Function>
XCPU_INLINE void for_vectors(std::int64_t begin, std::int64_t end, Function function) {
  const Mask all = first_lanes(kLanes);
  std::int64_t at = begin;
  for (; at + 4 * kLanes <= end; at += 4 * kLanes) {
#pragma GCC unroll 4
    for (int turn = 0; turn < 4; ++turn) function(turn, at + turn * kLanes, all);
  }
  for (; at + kLanes <= end; at += kLanes) function(0, at, all);
  if (at < end) function(0, at, first_lanes(end - at));
}

// A sum that grows in four parts.
struct FourSums {
  Floats of[4];

  XCPU_INLINE FourSums() {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) of[i] = fill(0.0F);
  }
  XCPU_INLINE float total() const { return sum(add(add(of[0], of[1]), add(of[2], of[3]))); }
};

}  // namespace xcpu::XCPU_ISA
