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

// As many rows as there are registers for their sums; int4 has sums of groups and of all.
#if defined(__AVX512F__)
constexpr int kMostRows = 14;
constexpr int kMostInt4Rows = 12;
#elif defined(__AVX2__)
constexpr int kMostRows = 2;
constexpr int kMostInt4Rows = 2;
#else
constexpr int kMostRows = 2;
constexpr int kMostInt4Rows = 2;
#endif

// So many bytes ahead of what is read, the next are asked for: what the memory's latency takes, at its
// bandwidth. Of int4 more, as was found by trying: its groups end in sums that read nothing.
constexpr int kPrefetchDistance = 4096;
XCPU_INLINE std::int64_t prefetch_distance(const Linear& linear) {
  if (linear.group == 0) return kPrefetchDistance;
  return linear.rows <= 2 ? 8192 : 16384;
}

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

  // What is asked for while a stretch is read: as much as it is, or, where several blocks read it, each its
  // part.
  const std::uint8_t* ahead;
  std::int64_t ahead_parts;
};

// Inputs from begin to end, of which the beginning is one of a step and of a group. What several stretches of
// a panel add up to is kept in a tile in between.
struct Stretch {
  std::int64_t begin, end;
  bool is_first, is_last;
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
  panel.ahead = panel.data + prefetch_distance(linear);
  panel.ahead_parts = 1;
  return panel;
}

// Reads along a panel: the words of a step, and what is asked for at the same time.
struct Cursor {
  const std::uint8_t* row;
  const std::uint8_t* ahead;
  std::int64_t row_bytes, ahead_bytes;

  XCPU_INLINE Cursor(const Panel& panel, std::int64_t offset)
      : row(panel.data + offset),
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

// Sums of kRows rows and a panel. In a tile they lie as kRows times kPanelColumns, lanes beyond the panel
// zero.
template <class Form, int kRows>
struct Sums {
  typename Form::Sum of[kRows][kVectors];

  XCPU_INLINE void clear() {
    each([](auto& sum, int /*row*/, int /*vector*/) { sum = Form::zero(); });
  }
  XCPU_INLINE void load(const float* tile) {
    each([=](auto& sum, int row, int vector) { sum = Form::load_sum(at(tile, row, vector)); });
  }
  XCPU_INLINE void store(float* tile) {
    each([=](auto& sum, int row, int vector) { Form::store_sum(at(tile, row, vector), sum); });
  }

  template <class Function>
  XCPU_INLINE void each(Function function) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) function(of[r][v], r, v);
    }
  }
  template <class Float>
  static XCPU_INLINE Float* at(Float* tile, int row, int vector) {
    return tile + row * kPanelColumns + vector * kLanes;
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
  // Of many rows the inputs come from far too, whenever a block begins.
  if constexpr (kRows > 8) __builtin_prefetch(reinterpret_cast<const char*>(input) + kPrefetchDistance);
  add_part<Form, kRows, 0>(sums, input, words);
}

// Few rows have several sums each, so that no addition waits for the one before it: they fill half of the
// registers.
template <int kSums>
constexpr int kChains = (kSums * 4 <= kRegisters / 2 ? 2 : 1) * (kSums * 2 <= kRegisters / 2 ? 2 : 1);

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
  sums.each([&](auto& sum, int row, int vector) {
    sum = more[0].of[row][vector];
#pragma GCC unroll 4
    for (int c = 1; c < kTogether; ++c) sum = Form::plus(sum, more[c].of[row][vector]);
  });
}

// The prepared inputs of a block of rows from a step on.
template <class Form, int kRows>
XCPU_INLINE const std::uint32_t* inputs_from(const Linear& linear, std::int64_t first_row,
                                             std::int64_t step) {
  const std::int64_t steps = (linear.k + Form::kValues - 1) / Form::kValues;
  return static_cast<const std::uint32_t*>(linear.input) + (first_row * steps + step * kRows) * Form::kParts;
}

// The sums of a stretch, added to those before it.
template <class Form, int kRows>
XCPU_INLINE void add_stretch(Sums<Form, kRows>& sums, const Linear& linear, const Panel& panel,
                             const Stretch& stretch, std::int64_t first_row, std::int64_t head_bytes,
                             const float* tile) {
  const std::int64_t begin = stretch.begin / Form::kValues;
  const std::int64_t end = (stretch.end + Form::kValues - 1) / Form::kValues;
  if (stretch.is_first) {
    sums.clear();
  } else {
    sums.load(tile);
  }
  Cursor cursor(panel, head_bytes + begin * panel.row_bytes);
  add_steps(sums, inputs_from<Form, kRows>(linear, first_row, begin), end - begin, cursor, panel);
}

// A stretch of a tile: fp32 and bf16.
template <class Form, int kRows>
void compute_plain(const Linear& linear, const Panel& panel, const Stretch& stretch, std::int64_t first_row,
                   float* tile) {
  Sums<Form, kRows> sums;
  add_stretch(sums, linear, panel, stretch, first_row, 0, tile);
  sums.store(tile);
}

// int8: a panel begins with a scale and a correction of each column.
template <int kRows>
void compute_int8(const Linear& linear, const Panel& panel, const Stretch& stretch, std::int64_t first_row,
                  float* tile) {
  using Form = Int8Form;
  Sums<Form, kRows> sums;
  add_stretch(sums, linear, panel, stretch, first_row, 2 * panel.row_bytes, tile);
  if (!stretch.is_last) return sums.store(tile);
  Sums<F32Form, kRows> results;
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
      results.of[r][v] = multiply(product, multiply(scale, fill(linear.scales[first_row + r])));
    }
  }
  results.store(tile);
}

// How the sums of a group of int4 begin and what they become.
struct GroupInput {
  float scale;
  std::int32_t start;
};

// Adds the sums of a group, times its scales.
template <class Form, int kRows>
XCPU_INLINE void add_group(Sums<F32Form, kRows>& totals, const Sums<Form, kRows>& sums,
                           const std::uint16_t* scales, const GroupInput* inputs, const Panel& panel) {
  totals.each([&](auto& total, int row, int vector) {
    const Floats scale = load_bf16(scales + panel.offset[vector], panel.mask[vector]);
    if constexpr (Form::kIsQuantised) {
      const Floats both = multiply(scale, fill(inputs[row].scale));
      total = multiply_add(to_floats(sums.of[row][vector]), both, total);
    } else {
      total = multiply_add(sums.of[row][vector], scale, total);
    }
  });
}

// int4: each group of a panel begins with a bf16 scale of each column.
template <class Form, int kRows>
void compute_int4(const Linear& linear, const Panel& panel, const Stretch& stretch, std::int64_t first_row,
                  float* tile) {
  const std::int64_t groups = linear.k / linear.group;
  const std::int64_t begin = stretch.begin / linear.group;
  const std::int64_t end = stretch.end / linear.group;
  const std::int64_t steps = linear.group / Form::kValues;
  const std::uint32_t* input = inputs_from<Form, kRows>(linear, first_row, begin * steps);
  const auto* inputs =
      reinterpret_cast<const GroupInput*>(linear.scales) + first_row * groups + begin * kRows;
  Cursor cursor(panel, begin * (panel.row_bytes / 2 + steps * panel.row_bytes));
  Sums<F32Form, kRows> totals;
  if (stretch.is_first) {
    totals.clear();
  } else {
    totals.load(tile);
  }
  for (std::int64_t group = begin; group < end; ++group) {
    const auto* scales = reinterpret_cast<const std::uint16_t*>(cursor.row);
    Sums<Form, kRows> sums;
    sums.each([=](auto& sum, [[maybe_unused]] int row, int /*vector*/) {
      sum = Form::zero();
      if constexpr (Form::kIsQuantised)
        sum = as_integers(fill_word(static_cast<std::uint32_t>(inputs[row].start)));
    });
    __builtin_prefetch(cursor.ahead);  // a line that no step asks for
    cursor.advance_half();
    add_steps(sums, input, steps, cursor, panel);
    add_group(totals, sums, scales, inputs, panel);
    input += steps * kRows * Form::kParts;
    inputs += kRows;
  }
  totals.store(tile);
}

}  // namespace xcpu::XCPU_ISA
