#pragma once
// Inputs of linear as its tiles read them: rounded or quantised, and in the order of steps.

#include "linear_tile.h"

namespace xcpu::XCPU_ISA {

// Inputs are taken in chunks of this many.
constexpr int kChunk = 64;

struct RowChunk {
  const Linear& linear;
  std::int64_t row;
  std::int64_t begin, end;  // the end of the row, or of what has the chunk's scale
};

XCPU_INLINE Floats load_input(const RowChunk& chunk, int at) {
  const std::int64_t column = chunk.begin + at;
  return load_any(chunk.linear.x.data, chunk.linear.x.dtype, chunk.row * chunk.linear.x.stride + column,
                  first_lanes(chunk.end - column));
}

// The chunk as bf16; zero beyond its end.
XCPU_INLINE void to_bf16(const RowChunk& chunk, std::uint16_t (&halves)[kChunk]) {
  for (int i = 0; i < kChunk; i += kLanes) store_bf16(halves + i, load_input(chunk, i), first_lanes(kLanes));
}

// The chunk times factor, as bytes.
XCPU_INLINE void to_bytes(const RowChunk& chunk, float factor, std::int8_t (&bytes)[kChunk]) {
  for (int i = 0; i < kChunk; i += kLanes) {
    store_bytes(bytes + i, to_integers(multiply(load_input(chunk, i), fill(factor))));
  }
}

// A scale for the inputs from begin to end of a row, and what they are multiplied by. Infinity and NaN among
// them make a scale of NaN: what depends on them is to be seen not to be a number.
struct InputScale {
  float scale, factor;
};
XCPU_INLINE InputScale scale_of(const Linear& linear, std::int64_t row, std::int64_t begin,
                                std::int64_t end) {
  Floats size = fill(0.0F);
  Floats nothing = fill(0.0F);
  for (std::int64_t k = begin; k < end; k += kLanes) {
    const Floats values =
        load_any(linear.x.data, linear.x.dtype, row * linear.x.stride + k, first_lanes(end - k));
    size = larger(size, absolute(values));
    nothing = multiply_add(values, fill(0.0F), nothing);
  }
  const float top = largest(size);
  const float not_a_number = sum(nothing);
  // Of subnormal inputs the factor would be infinite: they are zero.
  const bool has_factor = top > 0x1p-120F && not_a_number == 0.0F;
  return {top / 127.0F + not_a_number, has_factor ? 127.0F / top : 0.0F};
}

// Each form makes the words of a chunk, in the order of steps and parts.
template <class Form>
struct Encode;

template <>
struct Encode<F32Form> {
  static XCPU_INLINE void words(const RowChunk& chunk, float /*factor*/, std::uint32_t* to) {
    for (int i = 0; i < kChunk; i += kLanes) {
      store_words(to + i, as_words(load_input(chunk, i)), first_lanes(kLanes));
    }
  }
};

template <>
struct Encode<Bf16Form> {
  static XCPU_INLINE void words(const RowChunk& chunk, float /*factor*/, std::uint32_t* to) {
    std::uint16_t halves[kChunk];
    to_bf16(chunk, halves);
    if constexpr (Bf16Form::kParts == 1) {
      __builtin_memcpy(to, halves, sizeof halves);
    } else {
      for (int i = 0; i < kChunk; ++i) to[i] = std::uint32_t{halves[i]} << 16;
    }
  }
};

template <>
struct Encode<Int4Bf16Form> {
  static XCPU_INLINE void words(const RowChunk& chunk, float /*factor*/, std::uint32_t* to) {
    static constexpr int kOrder[8] = {0, 4, 1, 5, 2, 6, 3, 7};  // of the four bits in a word
    std::uint16_t halves[kChunk];
    to_bf16(chunk, halves);
    for (int step = 0; step < kChunk; step += 8) {
      for (int part = 0; part < Int4Bf16Form::kParts; ++part) {
        const std::uint32_t low = halves[step + kOrder[part]];
        if constexpr (Int4Bf16Form::kParts == 4) {
          *to++ = low | std::uint32_t{halves[step + kOrder[part + 4]]} << 16;
        } else {
          *to++ = low << 16;
        }
      }
    }
  }
};

template <>
struct Encode<Int8Form> {
  static XCPU_INLINE void words(const RowChunk& chunk, float factor, std::uint32_t* to) {
    std::int8_t bytes[kChunk];
    to_bytes(chunk, factor, bytes);
    __builtin_memcpy(to, bytes, sizeof bytes);
    for (int i = 0; i < kChunk / 4; ++i) to[i] ^= Int8Form::kAddedToInputs;
  }
};

template <>
struct Encode<Int4Form> {
  static XCPU_INLINE void words(const RowChunk& chunk, float factor, std::uint32_t* to) {
    std::int8_t bytes[kChunk];
    to_bytes(chunk, factor, bytes);
    __builtin_memcpy(to, bytes, sizeof bytes);
  }
};

// Some rows of one block, and where the block's words go. They are prepared together, since their words lie
// together.
struct BlockRows {
  std::int64_t block_begin, block_rows;
  std::int64_t begin, end;  // of these rows
  std::uint32_t* words;
};

// Calls function(rows) for the rows from begin to end, block by block.
template <class Form, int kMaxBlock, class Function>
XCPU_INLINE void for_each_block(const Linear& linear, std::int64_t begin, std::int64_t end,
                                Function function) {
  const std::int64_t steps = (linear.k + Form::kValues - 1) / Form::kValues;
  const std::int64_t blocks = count_blocks(linear.rows, kMaxBlock);
  for (std::int64_t block = begin * blocks / linear.rows; block < blocks; ++block) {
    const std::int64_t first = block_begin(linear.rows, blocks, block);
    const std::int64_t last = block_begin(linear.rows, blocks, block + 1);
    if (first >= end) return;
    if (last <= begin) continue;
    function(BlockRows{first, last - first, larger_of(first, begin), smaller_of(last, end),
                       static_cast<std::uint32_t*>(linear.prepared) + first * steps * Form::kParts});
  }
}

template <class Form>
XCPU_INLINE void prepare_chunk(const RowChunk& chunk, float factor, const BlockRows& rows) {
  constexpr int kParts = Form::kParts;
  std::uint32_t words[kChunk / Form::kValues * kParts];
  Encode<Form>::words(chunk, factor, words);
  const std::int64_t steps =
      (smaller_of(kChunk, chunk.end - chunk.begin) + Form::kValues - 1) / Form::kValues;
  const std::int64_t first = chunk.begin / Form::kValues;
  const std::int64_t within = chunk.row - rows.block_begin;
  std::uint32_t* to = rows.words + (first * rows.block_rows + within) * kParts;
  for (std::int64_t step = 0; step < steps; ++step, to += rows.block_rows * kParts) {
    for (int part = 0; part < kParts; ++part) to[part] = words[step * kParts + part];
  }
}

// All but int4 with quantised inputs.
template <class Form, int kMaxBlock>
void prepare_rows(const Linear& linear, std::int64_t row_begin, std::int64_t row_end) {
  for_each_block<Form, kMaxBlock>(linear, row_begin, row_end, [&](const BlockRows& rows) {
    float factors[kMaxBlock] = {};
    if constexpr (Form::kIsQuantised) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const InputScale scale = scale_of(linear, row, 0, linear.k);
        linear.scales[row] = scale.scale;
        factors[row - rows.block_begin] = scale.factor;
      }
    }
    for (std::int64_t k = 0; k < linear.k; k += kChunk) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        prepare_chunk<Form>({linear, row, k, linear.k}, factors[row - rows.block_begin], rows);
      }
    }
  });
}

// The sum of a row's inputs in a group.
XCPU_INLINE std::int32_t sum_of_group(const Linear& linear, const BlockRows& rows, std::int64_t row,
                                      std::int64_t begin) {
  const std::uint32_t* words =
      rows.words + (begin / Int4Form::kValues * rows.block_rows + row - rows.block_begin) * Int4Form::kParts;
  std::int32_t total = 0;
  for (std::int32_t k = 0; k < linear.group; k += Int4Form::kValues) {
    for (int part = 0; part < Int4Form::kParts; ++part) {
      for (int byte = 0; byte < 4; ++byte) total += static_cast<std::int8_t>(words[part] >> (8 * byte));
    }
    words += rows.block_rows * Int4Form::kParts;
  }
  return total;
}

// int4 with quantised inputs: a scale for each group of each row, and the sum of its inputs, of which eight
// times as much is what 8 added to the weights adds.
template <int kMaxBlock>
void prepare_groups(const Linear& linear, std::int64_t row_begin, std::int64_t row_end) {
  const std::int64_t groups = linear.k / linear.group;
  for_each_block<Int4Form, kMaxBlock>(linear, row_begin, row_end, [&](const BlockRows& rows) {
    auto* inputs =
        reinterpret_cast<GroupInput*>(linear.scales) + rows.block_begin * groups - rows.block_begin;
    for (std::int64_t group = 0; group < groups; ++group, inputs += rows.block_rows) {
      const std::int64_t begin = group * linear.group;
      const std::int64_t end = begin + linear.group;
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const InputScale scale = scale_of(linear, row, begin, end);
        for (std::int64_t k = begin; k < end; k += kChunk) {
          prepare_chunk<Int4Form>({linear, row, k, end}, scale.factor, rows);
        }
        inputs[row] = {scale.scale, -8 * sum_of_group(linear, rows, row, begin)};
      }
    }
  });
}

}  // namespace xcpu::XCPU_ISA
