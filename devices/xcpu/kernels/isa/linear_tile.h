#pragma once
// The products of a block of rows with a panel: a tile of fp32 sums.
//
// Rows are computed in blocks of at most max_block; the blocks of a call differ by at most one row. The
// prepared inputs of a block lie together, step after step, in each step row after row.

#include "kernels.h"
#include "linear_forms.h"
#include "memory.h"

namespace xcpu::XCPU_ISA {

constexpr int kVectors = kPanelColumns / kLanes;

// So many bytes ahead of what is read, the next are asked for: what the memory's latency takes, at its
// bandwidth.
constexpr int kPrefetchDistance = 4096;

XCPU_INLINE std::int64_t count_blocks(std::int64_t rows, int max_block) {
  return (rows + max_block - 1) / max_block;
}
XCPU_INLINE std::int64_t block_begin(std::int64_t rows, std::int64_t blocks, std::int64_t block) {
  return rows * block / blocks;
}

// A panel and where its vectors are in each row of words. It has two halves of up to 16 columns each; those
// of a pair are the two matrices'.
struct Panel {
  const std::uint8_t* data;
  std::int64_t columns;
  std::int64_t row_bytes;
  std::int64_t offset[kVectors];  // in columns
  Mask mask[kVectors];

  // What is asked for while this is read: as much as it is, or, where several blocks read it, each its part.
  const std::uint8_t* ahead;
  std::int64_t ahead_parts;
};

XCPU_INLINE Panel panel_of(const Linear& linear, std::int64_t index) {
  Panel panel;
  const std::int64_t first = index * kPanelColumns;
  panel.data = linear.weight + first * linear.column_bytes;
  panel.columns = smaller_of(kPanelColumns, linear.columns - first);
  panel.row_bytes = panel.columns * 4;
  const std::int64_t left = linear.is_pair ? panel.columns / 2 : smaller_of(kHalfColumns, panel.columns);
  const std::int64_t halves[2] = {left, panel.columns - left};
  for (int v = 0; v < kVectors; ++v) {
    const int half = v / (kVectors / 2);
    const std::int64_t within = std::int64_t{v % (kVectors / 2)} * kLanes;
    panel.offset[v] = half * left + smaller_of(within, halves[half]);
    panel.mask[v] = first_lanes(halves[half] - within);
  }
  panel.ahead = panel.data + kPrefetchDistance;
  panel.ahead_parts = 1;
  return panel;
}

// Reads along a panel: the words of a step, and what is asked for at the same time.
struct Cursor {
  const std::uint8_t* row;
  const std::uint8_t* ahead;
  std::int64_t row_bytes, ahead_bytes;

  XCPU_INLINE explicit Cursor(const Panel& panel)
      : row(panel.data),
        ahead(panel.ahead),
        row_bytes(panel.row_bytes),
        ahead_bytes(panel.row_bytes / panel.ahead_parts) {}

  XCPU_INLINE void advance(std::int64_t steps) {
    row += steps * row_bytes;
    ahead += steps * ahead_bytes;
  }
  // Over what is half as long as a row, which is the shortest.
  XCPU_INLINE void advance_half() {
    row += row_bytes / 2;
    ahead += ahead_bytes / 2;
  }
};

// Sums of kRows rows and a panel.
template <class Form, int kRows>
struct Sums {
  typename Form::Sum of[kRows][kVectors];

  XCPU_INLINE void clear() {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) of[r][v] = Form::zero();
    }
  }
};

// A row that is read as it lies may be of bf16, and begin between two words.
XCPU_INLINE std::uint32_t word_at(const std::uint32_t* words, int index) {
  std::uint32_t word;
  __builtin_memcpy(&word, reinterpret_cast<const char*>(words) + index * 4, sizeof word);
  return word;
}

template <class Form, int kRows, int kPart>
XCPU_INLINE void add_part(Sums<Form, kRows>& sums, const std::uint32_t* input,
                          const Words (&words)[kVectors]) {
  Words weights[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) weights[v] = Form::template part<kPart>(words[v]);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const Words broadcast = fill_word(word_at(input, r * Form::kParts + kPart));
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums.of[r][v] = Form::multiply(sums.of[r][v], broadcast, weights[v]);
  }
  if constexpr (kPart + 1 < Form::kParts) add_part<Form, kRows, kPart + 1>(sums, input, words);
}

template <class Form, int kRows>
XCPU_INLINE void add_step(Sums<Form, kRows>& sums, const std::uint32_t* input, const Cursor& cursor, int step,
                          const Panel& panel) {
  const std::uint8_t* row = cursor.row + step * cursor.row_bytes;
  const std::uint8_t* ahead = cursor.ahead + step * cursor.ahead_bytes;
  Words words[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) words[v] = load_words(row + panel.offset[v] * 4, panel.mask[v]);
  __builtin_prefetch(ahead);
  __builtin_prefetch(ahead + 64);
  add_part<Form, kRows, 0>(sums, input, words);
}

// Few rows have several sums each, so that no addition waits for the one before it: they fill half of the
// registers.
template <int kSums>
constexpr int kChains = kSums * 4 <= kRegisters / 2   ? 4
                        : kSums * 2 <= kRegisters / 2 ? 2
                                                      : 1;

template <class Form, int kRows>
XCPU_INLINE void add_steps(Sums<Form, kRows>& sums, const std::uint32_t* input, std::int64_t steps,
                           Cursor& cursor, const Panel& panel) {
  constexpr int kInputs = kRows * Form::kParts;
  constexpr int kTogether = kChains<kRows * kVectors>;
  Sums<Form, kRows> more[kTogether];
  more[0] = sums;
#pragma GCC unroll 4
  for (int c = 1; c < kTogether; ++c) more[c].clear();
  std::int64_t step = 0;
  for (; step + kTogether <= steps; step += kTogether) {
#pragma GCC unroll 4
    for (int c = 0; c < kTogether; ++c) add_step(more[c], input + c * kInputs, cursor, c, panel);
    input += kTogether * kInputs;
    cursor.advance(kTogether);
  }
  for (; step < steps; ++step, input += kInputs, cursor.advance(1))
    add_step(more[0], input, cursor, 0, panel);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums.of[r][v] = more[0].of[r][v];
#pragma GCC unroll 4
      for (int c = 1; c < kTogether; ++c) sums.of[r][v] = Form::plus(sums.of[r][v], more[c].of[r][v]);
    }
  }
}

// A tile: kRows times kPanelColumns, lanes beyond a panel zero.
template <int kRows>
XCPU_INLINE float* tile_at(float* tile, int row, int vector) {
  return tile + row * kPanelColumns + vector * kLanes;
}

// fp32 and bf16.
template <class Form, int kRows>
void compute_plain(const Linear& linear, const Panel& panel, std::int64_t first_row, float* tile) {
  const std::int64_t steps = (linear.k + Form::kValues - 1) / Form::kValues;
  const auto* input = static_cast<const std::uint32_t*>(linear.input) + first_row * steps * Form::kParts;
  Sums<Form, kRows> sums;
  sums.clear();
  Cursor cursor(panel);
  add_steps(sums, input, steps, cursor, panel);
  const Mask all = first_lanes(kLanes);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(tile_at<kRows>(tile, r, v), sums.of[r][v], all);
  }
}

// int8: a panel begins with a scale and a correction of each column.
template <int kRows>
void compute_int8(const Linear& linear, const Panel& panel, std::int64_t first_row, float* tile) {
  using Form = Int8Form;
  const std::int64_t steps = (linear.k + Form::kValues - 1) / Form::kValues;
  const auto* input = static_cast<const std::uint32_t*>(linear.input) + first_row * steps;
  Sums<Form, kRows> sums;
  sums.clear();
  Cursor cursor(panel);
  cursor.advance(2);
  add_steps(sums, input, steps, cursor, panel);
  const Mask all = first_lanes(kLanes);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const std::uint8_t* head = panel.data + panel.offset[v] * 4;
    const Floats scale = as_floats(load_words(head, panel.mask[v]));
    const Integers correction = Form::kAddedToInputs == 0
                                    ? Form::zero()
                                    : as_integers(load_words(head + panel.row_bytes, panel.mask[v]));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Floats product = to_floats(Form::plus(sums.of[r][v], correction));
      store(tile_at<kRows>(tile, r, v),
            multiply(product, multiply(scale, fill(linear.scales[first_row + r]))), all);
    }
  }
}

// How the sums of a group of int4 begin and what they become.
struct GroupInput {
  float scale;
  std::int32_t start;
};

// int4: each group of a panel begins with a bf16 scale of each column.
template <class Form, int kRows>
void compute_int4(const Linear& linear, const Panel& panel, std::int64_t first_row, float* tile) {
  constexpr bool kQuantised = Form::kParts == Int4Form::kParts;
  const std::int64_t groups = linear.k / linear.group;
  const std::int64_t steps = linear.group / Form::kValues;
  const auto* input =
      static_cast<const std::uint32_t*>(linear.input) + first_row * groups * steps * Form::kParts;
  const auto* inputs = reinterpret_cast<const GroupInput*>(linear.scales) + first_row * groups;
  Cursor cursor(panel);
  Sums<F32Form, kRows> totals;
  totals.clear();
  for (std::int64_t group = 0; group < groups; ++group, inputs += kRows) {
    const auto* scales = reinterpret_cast<const std::uint16_t*>(cursor.row);
    Sums<Form, kRows> sums;
    sums.clear();
    if constexpr (kQuantised) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          sums.of[r][v] = as_integers(fill_word(static_cast<std::uint32_t>(inputs[r].start)));
      }
    }
    cursor.advance_half();
    add_steps(sums, input, steps, cursor, panel);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const Floats scale = load_bf16(scales + panel.offset[v], panel.mask[v]);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        if constexpr (kQuantised) {
          totals.of[r][v] =
              multiply_add(to_floats(sums.of[r][v]), multiply(scale, fill(inputs[r].scale)), totals.of[r][v]);
        } else {
          totals.of[r][v] = multiply_add(sums.of[r][v], scale, totals.of[r][v]);
        }
      }
    }
    input += steps * kRows * Form::kParts;
  }
  const Mask all = first_lanes(kLanes);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(tile_at<kRows>(tile, r, v), totals.of[r][v], all);
  }
}

}  // namespace xcpu::XCPU_ISA
