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
  return panel;
}

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

template <class Form, int kRows, int kPart>
XCPU_INLINE void add_part(Sums<Form, kRows>& sums, const std::uint32_t* input,
                          const Words (&words)[kVectors]) {
  Words weights[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) weights[v] = Form::template part<kPart>(words[v]);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const Words broadcast = fill_word(input[r * Form::kParts + kPart]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums.of[r][v] = Form::multiply(sums.of[r][v], broadcast, weights[v]);
  }
  if constexpr (kPart + 1 < Form::kParts) add_part<Form, kRows, kPart + 1>(sums, input, words);
}

template <class Form, int kRows>
XCPU_INLINE void add_step(Sums<Form, kRows>& sums, const std::uint32_t* input, const std::uint8_t* row,
                          const Panel& panel) {
  Words words[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) words[v] = load_words(row + panel.offset[v] * 4, panel.mask[v]);
  __builtin_prefetch(row + kPrefetchDistance);
  __builtin_prefetch(row + kPrefetchDistance + 64);
  add_part<Form, kRows, 0>(sums, input, words);
}

// Few rows have several sums each, so that no addition waits for the one before it.
template <class Form, int kRows>
XCPU_INLINE void add_steps(Sums<Form, kRows>& sums, const std::uint32_t* input, const std::uint8_t* row,
                           std::int64_t steps, const Panel& panel) {
  constexpr int kInputs = kRows * Form::kParts;
  constexpr int kChains = kRows * kVectors >= 8 ? 1 : kRows * kVectors >= 4 ? 2 : 4;
  Sums<Form, kRows> more[kChains];
  more[0] = sums;
#pragma GCC unroll 4
  for (int c = 1; c < kChains; ++c) more[c].clear();
  std::int64_t step = 0;
  for (; step + kChains <= steps; step += kChains) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) {
      add_step(more[c], input + c * kInputs, row + c * panel.row_bytes, panel);
    }
    input += kChains * kInputs;
    row += kChains * panel.row_bytes;
  }
  for (; step < steps; ++step, input += kInputs, row += panel.row_bytes) {
    add_step(more[0], input, row, panel);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums.of[r][v] = more[0].of[r][v];
#pragma GCC unroll 4
      for (int c = 1; c < kChains; ++c) sums.of[r][v] = Form::plus(sums.of[r][v], more[c].of[r][v]);
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
  add_steps<Form, kRows>(sums, input, panel.data, steps, panel);
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
  add_steps<Form, kRows>(sums, input, panel.data + 2 * panel.row_bytes, steps, panel);
  const Mask all = first_lanes(kLanes);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const std::uint8_t* head = panel.data + panel.offset[v] * 4;
    const Floats scale = as_floats(load_words(head, panel.mask[v]));
    const Words correction =
        Form::kAddedToInputs == 0 ? Form::zero() : load_words(head + panel.row_bytes, panel.mask[v]);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Floats product = to_floats(add_words(sums.of[r][v], correction));
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
  const std::uint8_t* data = panel.data;
  Sums<F32Form, kRows> totals;
  totals.clear();
  for (std::int64_t group = 0; group < groups; ++group, inputs += kRows) {
    const auto* scales = reinterpret_cast<const std::uint16_t*>(data);
    Sums<Form, kRows> sums;
    sums.clear();
    if constexpr (kQuantised) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          sums.of[r][v] = fill_word(static_cast<std::uint32_t>(inputs[r].start));
      }
    }
    add_steps<Form, kRows>(sums, input, data + panel.columns * 2, steps, panel);
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
    data += panel.columns * 2 + steps * panel.row_bytes;
  }
  const Mask all = first_lanes(kLanes);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(tile_at<kRows>(tile, r, v), totals.of[r][v], all);
  }
}

}  // namespace xcpu::XCPU_ISA
