// AVX-512 with BW, DQ and VL; with BF16 and VNNI where the compiler is told so. Included by vector.h.

#include <immintrin.h>

namespace xcpu::XCPU_ISA {

constexpr int kRegisters = 32;
constexpr int kLanes = 16;
#if defined(__AVX512BF16__) && defined(__AVX512VNNI__)
#define XCPU_HAS_BF16
#endif

using Floats = __m512;
using Words = __m512i;
// Sums of integers have a type of their own: as Words, which intrinsics take for another, arrays of them
// would be kept in memory by GCC.
using Integers = __v16si;
using Mask = __mmask16;

XCPU_INLINE Mask first_lanes(std::int64_t count) {
  if (count >= kLanes) return 0xFFFF;
  return count <= 0 ? Mask{0} : static_cast<Mask>((1U << count) - 1);
}

// Lanes beyond the mask are zero, and their memory is not touched.
XCPU_INLINE Floats load(const float* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
XCPU_INLINE Words load_words(const void* from, Mask mask) { return _mm512_maskz_loadu_epi32(mask, from); }
XCPU_INLINE void store(float* to, Floats values, Mask mask) { _mm512_mask_storeu_ps(to, mask, values); }
XCPU_INLINE void store_words(void* to, Words words, Mask mask) { _mm512_mask_storeu_epi32(to, mask, words); }

XCPU_INLINE Floats load_bf16(const std::uint16_t* from, Mask mask) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16));
}
XCPU_INLINE Floats load_f16(const std::uint16_t* from, Mask mask) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from));
}
XCPU_INLINE void store_f16(std::uint16_t* to, Floats values, Mask mask) {
  _mm256_mask_storeu_epi16(to, mask, _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

XCPU_INLINE Floats fill(float value) { return _mm512_set1_ps(value); }
XCPU_INLINE Words fill_word(std::uint32_t word) { return _mm512_set1_epi32(static_cast<int>(word)); }
XCPU_INLINE Floats as_floats(Words words) { return _mm512_castsi512_ps(words); }
XCPU_INLINE Words as_words(Floats values) { return _mm512_castps_si512(values); }
XCPU_INLINE Integers as_integers(Words words) { return (Integers)words; }
XCPU_INLINE Words as_words(Integers integers) { return (Words)integers; }
XCPU_INLINE Floats to_floats(Integers integers) { return _mm512_cvtepi32_ps((Words)integers); }
// To the nearest, ties to even.
XCPU_INLINE Words to_integers(Floats values) { return _mm512_cvtps_epi32(values); }

XCPU_INLINE Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
XCPU_INLINE Floats subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
XCPU_INLINE Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
XCPU_INLINE Floats divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
// a * b + c
XCPU_INLINE Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
// Of a NaN and b: b.
XCPU_INLINE Floats larger(Floats a, Floats b) { return _mm512_max_ps(a, b); }
XCPU_INLINE Floats smaller(Floats a, Floats b) { return _mm512_min_ps(a, b); }
XCPU_INLINE Floats absolute(Floats a) { return _mm512_abs_ps(a); }
XCPU_INLINE Floats square_root(Floats a) { return _mm512_sqrt_ps(a); }
// Where a < b: yes, else no.
XCPU_INLINE Floats select_less(Floats a, Floats b, Floats yes, Floats no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
// Lanes 0 and 1 in each other's place, 2 and 3, and so on.
XCPU_INLINE Floats swap_neighbours(Floats a) { return _mm512_permute_ps(a, 0xB1); }
XCPU_INLINE float sum(Floats a) { return _mm512_reduce_add_ps(a); }
XCPU_INLINE float largest(Floats a) { return _mm512_reduce_max_ps(a); }

XCPU_INLINE Integers add_integers(Integers a, Integers b) { return a + b; }
XCPU_INLINE Words add_words(Words a, Words b) { return _mm512_add_epi32(a, b); }
XCPU_INLINE Words and_words(Words a, Words b) { return _mm512_and_si512(a, b); }
XCPU_INLINE Words xor_words(Words a, Words b) { return _mm512_xor_si512(a, b); }
XCPU_INLINE Words or_words(Words a, Words b) { return _mm512_or_si512(a, b); }
template <int kBits>
XCPU_INLINE Words shift_left(Words a) {
  return _mm512_slli_epi32(a, kBits);
}
template <int kBits>
XCPU_INLINE Words shift_right(Words a) {
  return _mm512_srli_epi32(a, kBits);
}
// The low bytes of the lanes, one after the other.
XCPU_INLINE void store_bytes(std::int8_t* to, Words integers) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(integers));
}
XCPU_INLINE Words load_bytes(const std::int8_t* from, Mask mask) {
  return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, from));
}

// 2^round(power), of power in [-300, 300]; times a.
XCPU_INLINE Floats scale_by_power(Floats a, Floats power) { return _mm512_scalef_ps(a, power); }
XCPU_INLINE Floats round_to_nearest(Floats a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// Of NaN the one that PyTorch has.
XCPU_INLINE __m256i rounded_to_bf16(Floats values) {
  const Words bits = as_words(values);
  const Words odd = and_words(shift_right<16>(bits), fill_word(1));
  const Words rounded = shift_right<16>(add_words(bits, add_words(odd, fill_word(0x7FFF))));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(rounded, is_nan, fill_word(0x7FC0)));
}

XCPU_INLINE void store_bf16(std::uint16_t* to, Floats values, Mask mask) {
#if defined(XCPU_HAS_BF16)
  // The instruction makes zeros of subnormal numbers, and other NaN: they are rare.
  constexpr int kNanOrSubnormal = 0x01 | 0x20 | 0x80;
  if (__builtin_expect(_mm512_fpclass_ps_mask(values, kNanOrSubnormal) == 0, 1)) {
    return _mm256_mask_storeu_epi16(to, mask, (__m256i)_mm512_cvtneps_pbh(values));
  }
#endif
  _mm256_mask_storeu_epi16(to, mask, rounded_to_bf16(values));
}

#if defined(XCPU_HAS_BF16)
// sum + the product of two pairs of bf16 in each lane.
XCPU_INLINE Floats add_pairs(Floats sum, Words a, Words b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

// sum + the products of four unsigned bytes of u with four signed of s in each lane.
XCPU_INLINE Integers add_quads(Integers sum, Words u, Words s) {
  return (Integers)_mm512_dpbusd_epi32((Words)sum, u, s);
}
#else
// The same where no byte of u is above 127.
XCPU_INLINE Integers add_quads(Integers sum, Words u, Words s) {
  const __m512i pairs = _mm512_maddubs_epi16(u, s);
  return sum + (Integers)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
}

// sum + the products of four signed bytes in each lane.
XCPU_INLINE Integers add_signed_quads(Integers sum, Words a, Words b) {
  const auto even = [](Words w) { return _mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8); };
  const auto odd = [](Words w) { return _mm512_srai_epi16(w, 8); };
  return sum + (Integers)_mm512_madd_epi16(even(a), even(b)) + (Integers)_mm512_madd_epi16(odd(a), odd(b));
}
#endif

// A bf16 for each half of a word, by its lowest four bits.
using Table = __m512i;
XCPU_INLINE Table load_table(const std::uint16_t* sixteen) {
  return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(sixteen)));
}
XCPU_INLINE Words look_up(Table table, Words words) { return _mm512_permutexvar_epi16(words, table); }

}  // namespace xcpu::XCPU_ISA
