#pragma once
// A vector of a head turned by the angles of a position.

#include "kernels.h"
#include "rows.h"

namespace xcpu::XCPU_ISA {

// The angles of one position, as all heads of a token use them.
struct Angles {
  alignas(64) float cos[kMostHeadDim];
  alignas(64) float sin[kMostHeadDim];
};

// In halves: an angle of each pair. Interleaved: of each element, the sine negative for the first of a pair.
inline void read_angles(const xcpu_rotary& rotary, std::int64_t token, Angles& angles) {
  const std::int64_t position = rotary.positions == nullptr ? token : rotary.positions[token];
  const std::int64_t pairs = rotary.rotary_dim / 2;
  const Floats zero = fill(0.0F);
  for (std::int64_t at = 0; at < pairs; at += kLanes) {
    const Mask mask = first_lanes(pairs - at);
    store(angles.cos + at,
          load_any(rotary.cos.data, rotary.cos.dtype, position * rotary.cos.stride + at, mask), mask);
    const Floats sine = load_any(rotary.sin.data, rotary.sin.dtype, position * rotary.sin.stride + at, mask);
    store(angles.sin + at, rotary.inverse != 0 ? subtract(zero, sine) : sine, mask);
  }
  if (rotary.form != XCPU_ROTARY_INTERLEAVED) return;
  for (std::int64_t pair = pairs - 1; pair >= 0; --pair) {
    const float cosine = angles.cos[pair];
    const float sine = angles.sin[pair];
    angles.cos[2 * pair] = angles.cos[2 * pair + 1] = cosine;
    angles.sin[2 * pair] = -sine;
    angles.sin[2 * pair + 1] = sine;
  }
}

// Both may be in the same place. `from` and `to` are where the vector begins.
template <int kDtype>
XCPU_INLINE void turn_halves(const Angles& angles, std::int64_t pairs, const xcpu_rows& from,
                             std::int64_t from_at, const xcpu_rows& to, std::int64_t to_at) {
  for_vectors(0, pairs, [&](int, std::int64_t i, Mask mask) {
    const Floats first = load_as<kDtype>(from, from_at + i, mask);
    const Floats second = load_as<kDtype>(from, from_at + pairs + i, mask);
    const Floats cosine = load(angles.cos + i, mask);
    const Floats sine = load(angles.sin + i, mask);
    store_as<kDtype>(to, to_at + i, subtract(multiply(first, cosine), multiply(second, sine)), mask);
    store_as<kDtype>(to, to_at + pairs + i, multiply_add(second, cosine, multiply(first, sine)), mask);
  });
}

template <int kDtype>
XCPU_INLINE void turn_interleaved(const Angles& angles, std::int64_t dim, const xcpu_rows& from,
                                  std::int64_t from_at, const xcpu_rows& to, std::int64_t to_at) {
  for_vectors(0, dim, [&](int, std::int64_t i, Mask mask) {
    const Floats values = load_as<kDtype>(from, from_at + i, mask);
    const Floats across = multiply(swap_neighbours(values), load(angles.sin + i, mask));
    store_as<kDtype>(to, to_at + i, multiply_add(values, load(angles.cos + i, mask), across), mask);
  });
}

template <int kDtype>
XCPU_INLINE void turn(const xcpu_rotary& rotary, const Angles& angles, std::int64_t head_dim,
                      const xcpu_rows& from, std::int64_t from_at, const xcpu_rows& to, std::int64_t to_at) {
  if (rotary.form == XCPU_ROTARY_HALVES) {
    turn_halves<kDtype>(angles, rotary.rotary_dim / 2, from, from_at, to, to_at);
  } else {
    turn_interleaved<kDtype>(angles, rotary.rotary_dim, from, from_at, to, to_at);
  }
  if (from.data == to.data && from_at == to_at) return;
  for_vectors(rotary.rotary_dim, head_dim, [&](int, std::int64_t i, Mask mask) {
    store_as<kDtype>(to, to_at + i, load_as<kDtype>(from, from_at + i, mask), mask);
  });
}

}  // namespace xcpu::XCPU_ISA
