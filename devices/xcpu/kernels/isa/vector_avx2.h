// AVX2 with FMA and F16C. Included by vector.h.

#include <immintrin.h>

namespace xcpu::XCPU_ISA {

constexpr int kRegisters = 16;
constexpr int kLanes = 8;

using Floats = __m256;
using Words = __m256i;
using Integers = __v8si;  // why there are two: vector_avx512.h
struct Mask {
  __m256i lanes;
  int count;
};

XCPU_INLINE Mask first_lanes(std::int64_t count) {
  alignas(32) static constexpr std::int32_t kOnesThenZeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  int used = count <= 0 ? 0 : static_cast<int>(count);
  if (count >= kLanes) used = kLanes;
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnesThenZeros + kLanes - used)), used};
}

// Lanes beyond the mask are zero, and their memory is not touched.
XCPU_INLINE Floats load(const float* from, Mask mask) { return _mm256_maskload_ps(from, mask.lanes); }
XCPU_INLINE Words load_words(const void* from, Mask mask) {
  return _mm256_maskload_epi32(static_cast<const int*>(from), mask.lanes);
}
XCPU_INLINE void store(float* to, Floats values, Mask mask) { _mm256_maskstore_ps(to, mask.lanes, values); }
XCPU_INLINE void store_words(void* to, Words words, Mask mask) {
  _mm256_maskstore_epi32(static_cast<int*>(to), mask.lanes, words);
}

// There are no masks for elements of 16 bits.
XCPU_INLINE __m128i load_halves(const std::uint16_t* from, Mask mask) {
  if (mask.count == kLanes) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  alignas(16) std::uint16_t copy[kLanes] = {};
  for (int i = 0; i < mask.count; ++i) copy[i] = from[i];
  return _mm_load_si128(reinterpret_cast<const __m128i*>(copy));
}
XCPU_INLINE void store_halves(std::uint16_t* to, __m128i halves, Mask mask) {
  if (mask.count == kLanes) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
  alignas(16) std::uint16_t copy[kLanes];
  _mm_store_si128(reinterpret_cast<__m128i*>(copy), halves);
  for (int i = 0; i < mask.count; ++i) to[i] = copy[i];
}

XCPU_INLINE Floats load_bf16(const std::uint16_t* from, Mask mask) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_halves(from, mask)), 16));
}
XCPU_INLINE Floats load_f16(const std::uint16_t* from, Mask mask) {
  return _mm256_cvtph_ps(load_halves(from, mask));
}
XCPU_INLINE void store_f16(std::uint16_t* to, Floats values, Mask mask) {
  store_halves(to, _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), mask);
}

XCPU_INLINE Floats fill(float value) { return _mm256_set1_ps(value); }
XCPU_INLINE Words fill_word(std::uint32_t word) { return _mm256_set1_epi32(static_cast<int>(word)); }
XCPU_INLINE Floats as_floats(Words words) { return _mm256_castsi256_ps(words); }
XCPU_INLINE Words as_words(Floats values) { return _mm256_castps_si256(values); }
XCPU_INLINE Integers as_integers(Words words) { return (Integers)words; }
XCPU_INLINE Words as_words(Integers integers) { return (Words)integers; }
XCPU_INLINE Floats to_floats(Integers integers) { return _mm256_cvtepi32_ps((Words)integers); }
// To the nearest, ties to even.
XCPU_INLINE Words to_integers(Floats values) { return _mm256_cvtps_epi32(values); }

XCPU_INLINE Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
XCPU_INLINE Floats subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
XCPU_INLINE Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
XCPU_INLINE Floats divide(Floats a, Floats b) { return _mm256_div_ps(a, b); }
// a * b + c
XCPU_INLINE Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
// Of a NaN and b: b.
XCPU_INLINE Floats larger(Floats a, Floats b) { return _mm256_max_ps(a, b); }
XCPU_INLINE Floats smaller(Floats a, Floats b) { return _mm256_min_ps(a, b); }
XCPU_INLINE Floats absolute(Floats a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a); }
XCPU_INLINE Floats square_root(Floats a) { return _mm256_sqrt_ps(a); }
// Where a < b: yes, else no.
XCPU_INLINE Floats select_less(Floats a, Floats b, Floats yes, Floats no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
// Lanes 0 and 1 in each other's place, 2 and 3, and so on.
XCPU_INLINE Floats swap_neighbours(Floats a) { return _mm256_permute_ps(a, 0xB1); }
XCPU_INLINE float sum(Floats a) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
XCPU_INLINE float largest(Floats a) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

XCPU_INLINE Integers add_integers(Integers a, Integers b) { return a + b; }
XCPU_INLINE Words add_words(Words a, Words b) { return _mm256_add_epi32(a, b); }
XCPU_INLINE Words and_words(Words a, Words b) { return _mm256_and_si256(a, b); }
XCPU_INLINE Words xor_words(Words a, Words b) { return _mm256_xor_si256(a, b); }
XCPU_INLINE Words or_words(Words a, Words b) { return _mm256_or_si256(a, b); }
template <int kBits>
XCPU_INLINE Words shift_left(Words a) {
  return _mm256_slli_epi32(a, kBits);
}
template <int kBits>
XCPU_INLINE Words shift_right(Words a) {
  return _mm256_srli_epi32(a, kBits);
}
// The low bytes of the lanes, which hold integers from -128 to 127, one after the other.
XCPU_INLINE void store_bytes(std::int8_t* to, Words integers) {
  const __m128i halves =
      _mm_packs_epi32(_mm256_castsi256_si128(integers), _mm256_extracti128_si256(integers, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(halves, halves));
}

XCPU_INLINE Floats round_to_nearest(Floats a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// a * 2^power, of an integer from -252 to 252: in two steps, since 2^power may not be a number of its own.
XCPU_INLINE Floats scale_by_power(Floats a, Floats power) {
  const __m256i whole = _mm256_cvtps_epi32(power);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  const auto power_of_two = [](__m256i exponent) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23));
  };
  return _mm256_mul_ps(_mm256_mul_ps(a, power_of_two(half)), power_of_two(_mm256_sub_epi32(whole, half)));
}

XCPU_INLINE void store_bf16(std::uint16_t* to, Floats values, Mask mask) {
  const Words bits = as_words(values);
  const Words odd = and_words(shift_right<16>(bits), fill_word(1));
  const Words rounded = shift_right<16>(add_words(bits, add_words(odd, fill_word(0x7FFF))));
  const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
  const Words result = as_words(_mm256_blendv_ps(as_floats(rounded), as_floats(fill_word(0x7FC0)), is_nan));
  store_halves(to, _mm_packus_epi32(_mm256_castsi256_si128(result), _mm256_extracti128_si256(result, 1)),
               mask);
}

// sum + the products of four unsigned bytes of u, none above 127, with four signed of s in each lane.
XCPU_INLINE Integers add_quads(Integers sum, Words u, Words s) {
  const __m256i pairs = _mm256_maddubs_epi16(u, s);
  return sum + (Integers)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

// sum + the products of four signed bytes in each lane.
XCPU_INLINE Integers add_signed_quads(Integers sum, Words a, Words b) {
  const auto even = [](Words w) { return _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8); };
  const auto odd = [](Words w) { return _mm256_srai_epi16(w, 8); };
  return sum + (Integers)_mm256_madd_epi16(even(a), even(b)) + (Integers)_mm256_madd_epi16(odd(a), odd(b));
}

}  // namespace xcpu::XCPU_ISA
