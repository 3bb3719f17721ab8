#pragma once
// What a task of attention works with: its queries as words, sums of its rows, and its tiles.

#include "attention_softmax.h"
#include "cache_write.h"

namespace xcpu::XCPU_ISA {

// Blocks of rows, of which each number of rows here has its functions; others take those of the next.
#if defined(__AVX512F__)
constexpr int kRowCounts[] = {1, 2, 4, 8, 14};
#else
constexpr int kRowCounts[] = {1, 2, 4};
#endif
constexpr int kMostRows = kRowCounts[sizeof kRowCounts / sizeof *kRowCounts - 1];
constexpr int kMostBlocks = 4;
constexpr int kTaskRows = kMostRows * kMostBlocks;

// The rows of a task in blocks of at most kMostRows.
struct RowBlocks {
  std::int64_t count, rows;  // of a block; the last may have fewer
};
XCPU_INLINE RowBlocks blocks_of(std::int64_t rows) {
  const std::int64_t count = (rows + kMostRows - 1) / kMostRows;
  return {count, (rows + count - 1) / count};
}

// Memory of one thread: queries of all blocks, sums of all rows, and a tile of values.
template <class Form>
XCPU_INLINE std::int64_t query_words(std::int64_t dim) {
  return kTaskRows * (dim / Form::kValues * Form::kParts);
}
XCPU_INLINE std::int64_t sum_stride(std::int64_t dim) { return dim + 16; }

template <class Kind>
XCPU_INLINE std::int64_t workspace_bytes_of(const TileShape& shape) {
  return 4 * (query_words<typename Kind::Keys>(shape.dim) + kTaskRows * sum_stride(shape.dim)) +
         (shape.tile_bytes - shape.key_bytes) + 64;
}

// A vector as words of a form, at distances: in a block its rows are interleaved. Gives what the products of
// int8 are to be multiplied by.
struct RowWords {
  std::uint32_t* to;
  std::int64_t stride;  // from a step to the next
};
inline float put_row(F32Form, const HeadVector& vector, std::int64_t dim, const RowWords& words) {
  for (std::int64_t i = 0; i < dim; ++i) words.to[i * words.stride] = word_at(vector.values, i);
  return 1.0F;
}
inline float put_row(Bf16Form, const HeadVector& vector, std::int64_t dim, const RowWords& words) {
  HeadHalves halves;
  to_halves(vector, dim, halves);
  for (std::int64_t i = 0; i < dim / 2; ++i) {
    if constexpr (Bf16Form::kParts == 1) {
      words.to[i * words.stride] = word_at(halves.values, i);
    } else {
      words.to[i * words.stride] = std::uint32_t{halves.values[2 * i]} << 16;
      words.to[i * words.stride + 1] = std::uint32_t{halves.values[2 * i + 1]} << 16;
    }
  }
  return 1.0F;
}
inline float put_row(Int8Keys, const HeadVector& vector, std::int64_t dim, const RowWords& words) {
  const HeadScale scale = scale_of(vector, dim);
  HeadBytes bytes;
  to_bytes(vector, dim, scale.factor, bytes);
  for (std::int64_t i = 0; i < dim / 4; ++i) words.to[i * words.stride] = word_at(bytes.values, i);
  return scale.scale;
}
// What the sums of the row begin with.
inline float start_of_row(Int8Keys, const RowWords& words, std::int64_t dim) {
  std::int32_t total = 0;
  for (std::int64_t i = 0; i < dim / 4; ++i) {
    const std::uint32_t word = words.to[i * words.stride];
    for (int byte = 0; byte < 4; ++byte) total += static_cast<std::int8_t>(word >> (8 * byte));
  }
  return static_cast<float>(-Int8Keys::kAdded * total);
}
template <class Form>
XCPU_INLINE float start_of_row(Form, const RowWords& /*words*/, std::int64_t /*dim*/) {
  return 0.0F;
}

// Where tile `index` of a sequence is.
XCPU_INLINE std::uint8_t* tile_at(const Attention& call, std::int64_t sequence, std::int64_t head,
                                  std::int64_t index) {
  const Tiles& tiles = call.tiles;
  const std::int64_t page_of_sequence = index / tiles.page_tiles;
  const std::int64_t page = tiles.block_table != nullptr
                                ? tiles.block_table[sequence * tiles.block_table_stride + page_of_sequence]
                                : call.k_starts[sequence] / kTileTokens + sequence + page_of_sequence;
  return tiles.data + ((page * tiles.kv_heads + head) * tiles.page_tiles + index % tiles.page_tiles) *
                          tiles.shape.tile_bytes;
}

XCPU_INLINE std::int64_t length_of(const Attention& call, std::int64_t sequence) {
  return call.lengths != nullptr ? call.lengths[sequence]
                                 : call.k_starts[sequence + 1] - call.k_starts[sequence];
}

// A row of a task in the call.
struct RowPlace {
  std::int64_t token, head, position;
};
XCPU_INLINE RowPlace place_of_row(const Attention& call, const AttentionTask& task, std::int64_t row) {
  const std::int64_t index = task.row_begin + row;
  const std::int64_t first = call.q_starts[task.sequence];
  const std::int64_t count = call.q_starts[task.sequence + 1] - first;
  const std::int64_t within = index / call.group;
  return {first + within, task.kv_head * call.group + index % call.group,
          length_of(call, task.sequence) - count + within};
}

struct Seen {
  std::int64_t begin, end;
};
XCPU_INLINE Seen seen_by(const Attention& call, std::int64_t length, std::int64_t position) {
  const std::int64_t begin = call.scores.window > 0 ? position - call.scores.window + 1 : 0;
  const std::int64_t end = call.scores.causal != 0 ? smaller_of(position + 1, length) : length;
  return {larger_of(begin, 0), end};
}

// Values of a tile with zeros for tokens that were never written: any weight times what is there would do.
template <class Kind>
inline void copy_written(const std::uint8_t* values, std::int64_t dim, std::int64_t tokens,
                         std::uint8_t* to) {
  constexpr int kValues = Kind::Values::kValues;
  constexpr int kBits = 32 / kValues;
  const Mask all = first_lanes(kLanes);
  for (std::int64_t row = 0; row < kTileTokens / kValues; ++row) {
    const std::int64_t written = tokens - row * kValues;
    std::uint32_t kept = written <= 0 ? 0U : 0xFFFFFFFFU;
    if (written > 0 && written < kValues) kept = (1U << (written * kBits)) - 1;
    for (std::int64_t i = 0; i < dim; i += kLanes) {
      const std::int64_t at = kScaleBytes<Kind> + (row * dim + i) * 4;
      store_words(to + at, and_words(load_words(values + at, all), fill_word(kept)), all);
    }
  }
}

}  // namespace xcpu::XCPU_ISA
