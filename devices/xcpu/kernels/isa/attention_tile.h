#pragma once
// The two products of attention, of a block of rows with some tiles: with their keys, which gives scores, and
// of weights with their values.
//
// Rows are in words, as many elements each as a word of a tile has, or in kParts words (linear_forms.h).

#include "attention.h"
#include "linear_forms.h"
#include "memory.h"

namespace xcpu::XCPU_ISA {

// Tokens that are scored before their values are read.
constexpr int kMostChunkTiles = 8;
constexpr int kChunk = kMostChunkTiles * kTileTokens;
// Of scores and weights: so that rows do not lie in the same lines of a cache.
constexpr int kChunkStride = kChunk + 16;
// Vectors of scores that are computed together, as many as few rows have registers for: of some tiles, or the
// halves of one.
template <int kRows>
constexpr int kScoreVectors = kRows * 4 <= kRegisters / 2 ? 4 : 2;
template <int kRows>
constexpr int kTilesTogether = kScoreVectors<kRows> * kLanes / kTileTokens;

// The tokens of some tiles, and of those that are computed with them.
template <int kRows>
constexpr std::int64_t columns_of(std::int64_t tiles) {
  constexpr int kTogether = kTilesTogether<kRows>;
  return (tiles + kTogether - 1) / kTogether * kTogether * kTileTokens;
}

// Keys with 128 added, and queries, of whose sum 128 times as much is taken away.
struct Int8Keys : IntegerSums {
  static constexpr int kValues = 4;
  static constexpr int kParts = 1;
  template <int kPart>
  static XCPU_INLINE Words part(Words words) {
#if defined(XCPU_HAS_BF16)
    return words;
#else
    return xor_words(words, fill_word(0x80808080U));
#endif
  }
#if defined(XCPU_HAS_BF16)
  static constexpr int kAdded = 128;
  static XCPU_INLINE Sum multiply(Sum sum, Words query, Words key) { return add_quads(sum, key, query); }
#else
  static constexpr int kAdded = 0;
  static XCPU_INLINE Sum multiply(Sum sum, Words query, Words key) {
    return add_signed_quads(sum, query, key);
  }
#endif
};

// Weights from 0 to 127.
struct Int8Values : IntegerSums {
  static constexpr int kValues = 4;
  static constexpr int kParts = 1;
  template <int kPart>
  static XCPU_INLINE Words part(Words words) {
    return words;
  }
  static XCPU_INLINE Sum multiply(Sum sum, Words weight, Words value) {
    return add_quads(sum, weight, value);
  }
};

// A kind of tile.
struct F32Kind {
  using Keys = F32Form;
  using Values = F32Form;
  static constexpr xcpu_cache_kind kKind = XCPU_CACHE_F32;
  static constexpr bool kHasScales = false;
};
struct Bf16Kind {
  using Keys = Bf16Form;
  using Values = Bf16Form;
  static constexpr xcpu_cache_kind kKind = XCPU_CACHE_BF16;
  static constexpr bool kHasScales = false;
};
struct Int8Kind {
  using Keys = Int8Keys;
  using Values = Int8Values;
  static constexpr xcpu_cache_kind kKind = XCPU_CACHE_INT8;
  static constexpr bool kHasScales = true;
};

template <class Kind>
constexpr int kScaleBytes = Kind::kHasScales ? kTileTokens * 4 : 0;

// Words of a row of a chunk's weights.
template <class Form>
constexpr int kWeightWords = kChunk / Form::kValues * Form::kParts + 16;

template <class Form, int kRows, int kVectors>
struct RowSums {
  typename Form::Sum of[kRows][kVectors];
};

// One step: a word of each row, at distances of kRowWords, and the words of some vectors.
template <class Form, int kRows, int kVectors, int kRowWords, int kPart>
XCPU_INLINE void add_words_of_rows(RowSums<Form, kRows, kVectors>& sums, const std::uint32_t* rows,
                                   const Words (&words)[kVectors]) {
  Words parts[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) parts[v] = Form::template part<kPart>(words[v]);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const Words broadcast = fill_word(rows[r * kRowWords + kPart]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums.of[r][v] = Form::multiply(sums.of[r][v], broadcast, parts[v]);
  }
  if constexpr (kPart + 1 < Form::kParts) {
    add_words_of_rows<Form, kRows, kVectors, kRowWords, kPart + 1>(sums, rows, words);
  }
}

XCPU_INLINE void store_sum(float* to, Floats sum, Mask mask) { store(to, sum, mask); }
XCPU_INLINE void store_sum(float* to, Integers sum, Mask mask) { store(to, to_floats(sum), mask); }
XCPU_INLINE Floats start_of(Floats /*unused*/, float /*start*/) { return fill(0.0F); }
XCPU_INLINE Integers start_of(Integers /*unused*/, float start) {
  return as_integers(fill_word(static_cast<std::uint32_t>(static_cast<std::int32_t>(start))));
}

// The tiles of the next chunk, which are asked for while this one is computed, some lines of the cache at a
// time: as evenly as can be, since memory that waits for a burst of questions is as slow as one that is idle.
class Ahead {
 public:
  const std::uint8_t* tiles[kMostChunkTiles];
  std::int64_t count = 0;

  void begin(std::int64_t tile_bytes) {
    bytes_ = tile_bytes;
    tile_ = -1;
    at_ = end_ = nullptr;
  }

  template <int kLines>
  XCPU_INLINE void ask() {
    if (at_ >= end_) {
      if (tile_ + 1 >= count) return;
      at_ = tiles[++tile_];
      end_ = at_ + bytes_;
    }
#pragma GCC unroll 4
    for (int i = 0; i < kLines; ++i) __builtin_prefetch(at_ + i * 64);
    at_ += kLines * 64;
  }

  XCPU_INLINE void ask_lines(std::int64_t lines) {
    for (; lines > 0; lines -= 2) ask<2>();
  }

 private:
  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  std::int64_t bytes_ = 0, tile_ = -1;
};

// Keys of tiles from `first` of some on; beyond the last they are the last's.
template <int kRows>
struct KeyTiles {
  const std::uint8_t* at[kScoreVectors<kRows>];

  XCPU_INLINE KeyTiles(const std::uint8_t* const* tiles, std::int64_t count, std::int64_t first,
                       int skipped) {
    for (int v = 0; v < kScoreVectors<kRows>; ++v) {
      const std::int64_t tile = smaller_of(first + v * kLanes / kTileTokens, count - 1);
      at[v] = tiles[tile] + skipped + v * kLanes % kTileTokens * 4;
    }
  }
};

// Rows are interleaved: in each step row after row. `starts` is what their sums begin with.
template <class Form, int kRows>
XCPU_INLINE void score_rows(const std::uint32_t* rows, std::int64_t steps, const KeyTiles<kRows>& keys,
                            const float* starts, float* scores, Ahead& ahead) {
  constexpr int kVectors = kScoreVectors<kRows>;
  const Mask all = first_lanes(kLanes);
  RowSums<Form, kRows, kVectors> sums;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums.of[r][v] = start_of(sums.of[r][v], starts[r]);
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t at = step * kTileTokens * 4;
    Words words[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) words[v] = load_words(keys.at[v] + at, all);
    ahead.ask<kVectors / 2>();
    add_words_of_rows<Form, kRows, kVectors, Form::kParts, 0>(sums, rows + step * kRows * Form::kParts,
                                                              words);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      store_sum(scores + r * kChunkStride + v * kLanes, sums.of[r][v], all);
    }
  }
}

// Values of the tiles of a chunk.
struct ValueTiles {
  const std::uint8_t* at[kMostChunkTiles];
  std::int64_t count;
  std::int64_t dim;
};

// Adds the weighted values, of kVectors vectors of elements from `column` on, to a row of sums each.
template <class Form, int kRows, int kVectors>
XCPU_INLINE void add_values(const std::uint32_t* weights, const ValueTiles& tiles, std::int64_t column,
                            const float* factors, float* out, std::int64_t out_stride, Ahead& ahead) {
  constexpr bool kIsInteger = Form::kValues == 4;
  constexpr int kSteps = kTileTokens / Form::kValues;
  const Mask all = first_lanes(kLanes);
  RowSums<Form, kRows, kVectors> sums;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kIsInteger) {
        sums.of[r][v] = Form::zero();
      } else {
        sums.of[r][v] = load(out + r * out_stride + column + v * kLanes, all);
      }
    }
  }
  for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
    const std::uint8_t* from = tiles.at[tile] + column * 4;
    for (int step = 0; step < kSteps; ++step) {
      Words words[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) words[v] = load_words(from + v * kLanes * 4, all);
      ahead.ask<kVectors>();
      add_words_of_rows<Form, kRows, kVectors, kWeightWords<Form>, 0>(
          sums, weights + (tile * kSteps + step) * Form::kParts, words);
      from += tiles.dim * 4;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* to = out + r * out_stride + column + v * kLanes;
      if constexpr (kIsInteger) {
        store(to, multiply_add(to_floats(sums.of[r][v]), fill(factors[r]), load(to, all)), all);
      } else {
        store(to, sums.of[r][v], all);
      }
    }
  }
}

// All elements. Few rows take more vectors at a time.
template <class Form, int kRows>
XCPU_INLINE void add_all_values(const std::uint32_t* weights, const ValueTiles& tiles, const float* factors,
                                float* out, std::int64_t out_stride, Ahead& ahead) {
  constexpr int kVectors = kRows * 4 <= kRegisters / 2 ? 4 : 2;
  std::int64_t column = 0;
  for (; column + kVectors * kLanes <= tiles.dim; column += kVectors * kLanes) {
    add_values<Form, kRows, kVectors>(weights, tiles, column, factors, out, out_stride, ahead);
  }
  for (; column < tiles.dim; column += kLanes) {
    add_values<Form, kRows, 1>(weights, tiles, column, factors, out, out_stride, ahead);
  }
}

}  // namespace xcpu::XCPU_ISA
