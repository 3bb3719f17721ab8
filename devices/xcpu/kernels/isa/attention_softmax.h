#pragma once
// Scores of a row become weights, chunk after chunk; scores are powers of two.

#include "attention_tile.h"
#include "math.h"

namespace xcpu::XCPU_ISA {

constexpr float kLog2E = 0x1.715476p+0F;
constexpr float kLn2 = 0x1.62e43p-1F;
constexpr float kNothing = -__builtin_inff();

// 2^x of x up to 0. Within 2e-7 of it; of -infinity 0.
XCPU_INLINE Floats power_of_two(Floats x) {
  const Floats bounded = larger(fill(-150.0F), x);  // the second of the two, so a NaN stays
  const Floats whole = round_to_nearest(bounded);
  const Floats rest = subtract(bounded, whole);
  Floats value = fill(1.535336188319500e-4F);
  value = multiply_add(value, rest, fill(1.339887440266574e-3F));
  value = multiply_add(value, rest, fill(9.618437357674640e-3F));
  value = multiply_add(value, rest, fill(5.550332471162809e-2F));
  value = multiply_add(value, rest, fill(2.402264791363012e-1F));
  value = multiply_add(value, rest, fill(6.931472028550421e-1F));
  value = multiply_add(value, rest, fill(1.0F));
  return scale_by_power(value, whole);
}

XCPU_INLINE float power_of_two(float x) {
  alignas(64) float result[kLanes];
  store(result, power_of_two(fill(x)), first_lanes(kLanes));
  return result[0];
}

// 1 - 2 / (exp(2 x) + 1): near 0 its error is of the size of that of 1.
XCPU_INLINE Floats hyperbolic_tangent(Floats x) {
  const Floats e = exponential(add(x, x));
  return subtract(fill(1.0F), divide(fill(2.0F), add(e, fill(1.0F))));
}

XCPU_INLINE Floats lane_numbers() {
  alignas(64) static constexpr float kNumbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return load(kNumbers, first_lanes(kLanes));
}

// How products become scores.
struct ScoreRule {
  float scale;       // of what comes before the cap
  float softcap;     // 0: none
  float alibi;       // of the row's head, in powers of two
  float last_scale;  // after the cap

  XCPU_INLINE Floats operator()(Floats product, Floats distance) const {
    Floats score = multiply(product, fill(scale));
    if (softcap != 0) score = multiply(hyperbolic_tangent(score), fill(last_scale));
    if (alibi != 0) score = multiply_add(distance, fill(alibi), score);
    return score;
  }
};

XCPU_INLINE ScoreRule rule_of(const xcpu_scores& scores, std::int64_t head_dim, std::int64_t head) {
  const float scale = scores.scale != 0 ? scores.scale : 1.0F / __builtin_sqrtf(static_cast<float>(head_dim));
  const float alibi = scores.alibi == nullptr ? 0.0F : scores.alibi[head] * kLog2E;
  if (scores.softcap == 0) return {scale * kLog2E, 0.0F, alibi, 1.0F};
  return {scale / scores.softcap, scores.softcap, alibi, scores.softcap * kLog2E};
}

// A row and what it has seen so far.
struct SoftmaxRow {
  ScoreRule rule;
  std::int64_t position;    // of the query
  std::int64_t begin, end;  // the keys it sees
  float top;                // the largest score
  Floats total;             // the sum of 2^(score - top), in parts
};

// The columns of a chunk, in the tokens of a sequence.
struct ChunkSpan {
  std::int64_t begin, end;  // end - begin is a multiple of the vectors that are computed together
};

// Scores from products, in place; those that the row does not see are -infinity. Gives the largest.
template <bool kHasScales>
XCPU_INLINE float score_chunk(const SoftmaxRow& row, const ChunkSpan& span, const float* key_scales,
                              float query_scale, float* scores) {
  const Mask all = first_lanes(kLanes);
  const bool is_seen_whole = row.begin <= span.begin && row.end >= span.end;
  const Floats first_seen = fill(static_cast<float>(larger_of(row.begin - span.begin, -1)));
  const Floats end_of_seen = fill(static_cast<float>(smaller_of(row.end - span.begin, kChunk)));
  const Floats from_query = fill(static_cast<float>(span.begin - row.position));
  Floats top = fill(kNothing);
  for (std::int64_t at = 0; at < span.end - span.begin; at += kLanes) {
    const Floats column = add(lane_numbers(), fill(static_cast<float>(at)));
    Floats product = load(scores + at, all);
    if constexpr (kHasScales) {
      product = multiply(product, multiply(load(key_scales + at, all), fill(query_scale)));
    }
    Floats score = row.rule(product, add(column, from_query));
    if (!is_seen_whole) {
      score = select_less(column, first_seen, fill(kNothing), score);
      score = select_less(column, end_of_seen, score, fill(kNothing));
    }
    store(scores + at, score, all);
    top = larger(score, top);
  }
  return largest(top);
}

// Weights of bf16 are words of two. Without an instruction for them they are fp32, rounded as bf16.
XCPU_INLINE void store_weights(Bf16Form, std::uint32_t* words, std::int64_t at, Floats weights) {
#if defined(XCPU_HAS_BF16)
  const __m256bh halves = _mm512_cvtneps_pbh(weights);
  __builtin_memcpy(reinterpret_cast<std::uint16_t*>(words) + at, &halves, sizeof halves);
#else
  const Words bits = as_words(weights);
  const Words odd = and_words(shift_right<16>(bits), fill_word(1));
  const Words rounded = add_words(bits, add_words(odd, fill_word(0x7FFF)));
  store_words(words + at, and_words(rounded, fill_word(0xFFFF0000U)), first_lanes(kLanes));
#endif
}
XCPU_INLINE void store_weights(F32Form, std::uint32_t* words, std::int64_t at, Floats weights) {
  store_words(words + at, as_words(weights), first_lanes(kLanes));
}

// Weights times the values' scales, as bytes; what the sums are to be multiplied by. Infinity and NaN among
// them make that NaN.
inline float store_quantised(const float* weights, std::int64_t count, std::uint32_t* words) {
  const Mask all = first_lanes(kLanes);
  Floats top = fill(0.0F);
  Floats nothing = fill(0.0F);
  for (std::int64_t at = 0; at < count; at += kLanes) {
    const Floats weight = load(weights + at, all);
    top = larger(weight, top);
    nothing = multiply_add(weight, fill(0.0F), nothing);
  }
  const float most = largest(top);
  const Floats factor = fill(most > 0x1p-120F ? 127.0F / most : 0.0F);
  for (std::int64_t at = 0; at < count; at += kLanes) {
    store_bytes(reinterpret_cast<std::int8_t*>(words) + at,
                to_integers(multiply(load(weights + at, all), factor)));
  }
  return most / 127.0F + sum(nothing);
}

// How the sums so far shrink, and what the chunk's are multiplied by.
struct ChunkFactors {
  float before, now;
};

// The weights of a chunk, from its products. `value_scales` are of its tokens. With each vector so many lines
// ahead are asked for.
template <class Kind>
XCPU_INLINE ChunkFactors weigh_chunk(SoftmaxRow& row, const ChunkSpan& span, const float* key_scales,
                                     const float* value_scales, float query_scale, float* scores,
                                     std::uint32_t* words, Ahead& ahead, std::int64_t lines) {
  const Mask all = first_lanes(kLanes);
  const std::int64_t count = span.end - span.begin;
  const float found = score_chunk<Kind::kHasScales>(row, span, key_scales, query_scale, scores);
  const float top = found > row.top ? found : row.top;
  const float reference = top == kNothing ? 0.0F : top;  // where nothing is seen all weights are zero
  Floats total = fill(0.0F);
  for (std::int64_t at = 0; at < count; at += kLanes) {
    ahead.ask_lines(lines);
    Floats weight = power_of_two(subtract(load(scores + at, all), fill(reference)));
    total = add(total, weight);
    if constexpr (Kind::kHasScales) {
      // The scale of what was never written may be anything. A weight that is not a number stays one.
      const Floats scaled = multiply(weight, load(value_scales + at, all));
      weight = select_less(weight, fill(0x1p-126F), fill(0.0F), scaled);
      store(scores + at, weight, all);
    } else {
      store_weights(typename Kind::Values{}, words, at, weight);
    }
  }
  const float before = row.top == top ? 1.0F : power_of_two(row.top - top);
  row.total = multiply_add(row.total, fill(before), total);
  row.top = top;
  if constexpr (Kind::kHasScales) return {before, store_quantised(scores, count, words)};
  return {before, 1.0F};
}

}  // namespace xcpu::XCPU_ISA
