#pragma once
// As many vectors of words as each has lanes, made to vectors of their first lanes, their second, and so on.

#include "vector.h"

namespace xcpu::XCPU_ISA {

#if defined(__AVX512F__)
XCPU_INLINE void transpose(Words (&rows)[kLanes]) {
  Words pairs[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  Words fours[kLanes];  // in quarter q of fours[i + j]: word 4 q + j of rows i to i + 3
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    fours[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
    fours[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
    fours[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    fours[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Words even = _mm512_shuffle_i32x4(fours[j], fours[4 + j], 0x88);
    const Words odd = _mm512_shuffle_i32x4(fours[j], fours[4 + j], 0xDD);
    const Words more_even = _mm512_shuffle_i32x4(fours[8 + j], fours[12 + j], 0x88);
    const Words more_odd = _mm512_shuffle_i32x4(fours[8 + j], fours[12 + j], 0xDD);
    rows[j] = _mm512_shuffle_i32x4(even, more_even, 0x88);
    rows[4 + j] = _mm512_shuffle_i32x4(odd, more_odd, 0x88);
    rows[8 + j] = _mm512_shuffle_i32x4(even, more_even, 0xDD);
    rows[12 + j] = _mm512_shuffle_i32x4(odd, more_odd, 0xDD);
  }
}
#elif defined(__AVX2__)
XCPU_INLINE void transpose(Words (&rows)[kLanes]) {
  Words pairs[kLanes];
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 2) {
    pairs[i] = _mm256_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  Words fours[kLanes];  // in half h of fours[i + j]: word 4 h + j of rows i to i + 3
#pragma GCC unroll 2
  for (int i = 0; i < kLanes; i += 4) {
    fours[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
    fours[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
    fours[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    fours[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    rows[j] = _mm256_permute2x128_si256(fours[j], fours[4 + j], 0x20);
    rows[4 + j] = _mm256_permute2x128_si256(fours[j], fours[4 + j], 0x31);
  }
}
#else
XCPU_INLINE void transpose(Words (&rows)[kLanes]) {
  for (int i = 0; i < kLanes; ++i) {
    for (int j = 0; j < i; ++j) {
      const std::uint32_t word = rows[i].lane[j];
      rows[i].lane[j] = rows[j].lane[i];
      rows[j].lane[i] = word;
    }
  }
}
#endif

}  // namespace xcpu::XCPU_ISA
