// Products of matrices as they lie, one instruction set: dot products of rows, and what tiles of linear read.

#include "product.h"

#include "linear_forms.h"
#include "rows.h"
#include "transpose.h"

namespace xcpu::XCPU_ISA {
namespace {

// ---------------------------------- dot products -----------------------------------

// So many sums grow side by side: with one row its product with more columns, so that additions need not wait
// for one another.
constexpr int kManyRows = 4;
constexpr int kColumns = kRegisters >= 32 ? 4 : 2;
constexpr int kColumnsOfOne = 2 * kColumns;

// Rows of x that stay in a cache while columns go by.
constexpr std::int64_t kBytesOfRows = 128 << 10;

XCPU_INLINE std::int64_t bytes_of(xcpu_dtype dtype) { return dtype == XCPU_F32 ? 4 : 2; }

XCPU_INLINE xcpu_rows rows_of(const xcpu_matrix& matrix, std::int64_t batch_offset) {
  auto* data = static_cast<std::uint8_t*>(matrix.data) + batch_offset * bytes_of(matrix.dtype);
  return {data, matrix.dtype, matrix.row_stride};
}

struct Dots {
  xcpu_rows x, weight, bias, out;
  std::int64_t k;
};

template <int kRows, int kCount>
struct DotSums {
  Floats of[kRows][kCount];
};

// Elements from `begin` on, in vectors of fp32.
template <int kDtype, int kRows, int kCount>
XCPU_INLINE void add_floats(DotSums<kRows, kCount>& sums, const Dots& dots, std::int64_t row,
                            std::int64_t column, std::int64_t begin) {
  const auto step = [&](std::int64_t at, Mask mask) {
    Floats weights[kCount];
#pragma GCC unroll 8
    for (int c = 0; c < kCount; ++c)
      weights[c] = load_as<kDtype>(dots.weight, (column + c) * dots.weight.stride + at, mask);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Floats x = load_as<kDtype>(dots.x, (row + r) * dots.x.stride + at, mask);
#pragma GCC unroll 8
      for (int c = 0; c < kCount; ++c) sums.of[r][c] = multiply_add(x, weights[c], sums.of[r][c]);
    }
  };
  std::int64_t at = begin;
  for (; at + kLanes <= dots.k; at += kLanes) step(at, first_lanes(kLanes));
  if (at < dots.k) step(at, first_lanes(dots.k - at));
}

#if defined(XCPU_HAS_BF16)
// Pairs of bf16; gives where they end.
template <int kRows, int kCount>
XCPU_INLINE std::int64_t add_pairs_of(DotSums<kRows, kCount>& sums, const Dots& dots, std::int64_t row,
                                      std::int64_t column) {
  const Mask all = first_lanes(kLanes);
  const auto* x = static_cast<const std::uint16_t*>(dots.x.data) + row * dots.x.stride;
  const auto* weight = static_cast<const std::uint16_t*>(dots.weight.data) + column * dots.weight.stride;
  std::int64_t at = 0;
  for (; at + 2 * kLanes <= dots.k; at += 2 * kLanes) {
    Words weights[kCount];
#pragma GCC unroll 8
    for (int c = 0; c < kCount; ++c) weights[c] = load_words(weight + c * dots.weight.stride + at, all);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Words words = load_words(x + r * dots.x.stride + at, all);
#pragma GCC unroll 8
      for (int c = 0; c < kCount; ++c) sums.of[r][c] = add_pairs(sums.of[r][c], words, weights[c]);
    }
  }
  return at;
}
#endif

template <int kDtype, int kRows, int kCount>
void dot_tile(const Dots& dots, std::int64_t row, std::int64_t column) {
  DotSums<kRows, kCount> sums;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kCount; ++c) sums.of[r][c] = fill(0.0F);
  }
  std::int64_t begin = 0;
#if defined(XCPU_HAS_BF16)
  if constexpr (kDtype == XCPU_BF16) begin = add_pairs_of(sums, dots, row, column);
#endif
  if (begin < dots.k) add_floats<kDtype>(sums, dots, row, column, begin);
  const Mask mask = first_lanes(kCount);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    alignas(64) float values[kLanes];
#pragma GCC unroll 8
    for (int c = 0; c < kCount; ++c) values[c] = sum(sums.of[r][c]);
    Floats result = load(values, mask);
    if (dots.bias.data != nullptr)
      result = add(result, load_any(dots.bias.data, dots.bias.dtype, column, mask));
    store_any(dots.out.data, dots.out.dtype, (row + r) * dots.out.stride + column, result, mask);
  }
}

template <int kDtype, int kRows, int kCount>
void dot_columns(const Dots& dots, std::int64_t row, std::int64_t begin, std::int64_t end) {
  std::int64_t column = begin;
  for (; column + kCount <= end; column += kCount) dot_tile<kDtype, kRows, kCount>(dots, row, column);
  if constexpr (kCount > 1) {
    if (column < end) dot_columns<kDtype, kRows, kCount / 2>(dots, row, column, end);
  }
}

// The columns are few, and near when the next rows come.
template <int kDtype>
void dot_rows(const Dots& dots, std::int64_t row_begin, std::int64_t row_end, std::int64_t begin,
              std::int64_t end) {
  std::int64_t row = row_begin;
  for (; row + kManyRows <= row_end; row += kManyRows)
    dot_columns<kDtype, kManyRows, kColumns>(dots, row, begin, end);
  for (; row + 2 <= row_end; row += 2) dot_columns<kDtype, 2, kColumns>(dots, row, begin, end);
  for (; row < row_end; ++row) dot_columns<kDtype, 1, kColumnsOfOne>(dots, row, begin, end);
}

template <int kDtype>
void dots_as(const Dots& dots, const ProductColumns& columns, std::int64_t row_begin, std::int64_t row_end) {
  const std::int64_t near = larger_of(kManyRows, kBytesOfRows / (dots.k * bytes_of(dots.x.dtype) + 1));
  for (std::int64_t row = row_begin; row < row_end; row += near) {
    for (std::int64_t column = columns.begin; column < columns.end; column += kColumnsOfOne) {
      dot_rows<kDtype>(dots, row, smaller_of(row + near, row_end), column,
                       smaller_of(column + kColumnsOfOne, columns.end));
    }
  }
}

void dots(const xcpu_product_args& args, const ProductColumns& columns, std::int64_t row_begin,
          std::int64_t row_end) {
  Dots given{rows_of(args.x, columns.batch * args.x_batch_stride),
             rows_of(args.weight, columns.batch * args.weight_batch_stride), args.bias, args.out, args.k};
  given.out.data = static_cast<std::uint8_t*>(args.out.data) +
                   columns.batch * args.out_batch_stride * bytes_of(args.out.dtype);
  switch (common_dtype(given.x, given.weight)) {
    case XCPU_F32: return dots_as<XCPU_F32>(given, columns, row_begin, row_end);
    case XCPU_BF16: return dots_as<XCPU_BF16>(given, columns, row_begin, row_end);
    default: return dots_as<kAnyDtype>(given, columns, row_begin, row_end);
  }
}

// ------------------------------- words of columns ----------------------------------

// Elements of a matrix that is contiguous along its columns: of one input, from a column on.
struct Columns {
  const void* data;
  xcpu_dtype dtype;
  std::int64_t stride;  // from input to input
  std::int64_t k;

  // Zero beyond the last input.
  XCPU_INLINE Floats load(std::int64_t input, std::int64_t column, Mask mask) const {
    return input < k ? load_any(data, dtype, input * stride + column, mask) : fill(0.0F);
  }
};

// Two inputs as halves of words. bf16 only.
XCPU_INLINE Words pair_of(const Columns& from, std::int64_t step, std::int64_t column, Mask mask) {
  const Words low = as_words(from.load(2 * step, column, mask));
  return or_words(shift_right<16>(low), as_words(from.load(2 * step + 1, column, mask)));
}

template <class Form>
XCPU_INLINE Words words_of(const Columns& from, std::int64_t step, std::int64_t column, Mask mask) {
  if constexpr (Form::kValues == 1) {
    return as_words(from.load(step, column, mask));
  } else {
    return pair_of(from, step, column, mask);
  }
}

template <class Form>
void pack_as(const Columns& from, const ProductColumns& columns, void* packed) {
  auto* to = static_cast<std::uint32_t*>(packed);
  const std::int64_t steps = (from.k + Form::kValues - 1) / Form::kValues;
  for (std::int64_t first = columns.begin; first < columns.end; first += kPanelColumns) {
    const std::int64_t width = smaller_of(kPanelColumns, columns.end - first);
    for (std::int64_t step = 0; step < steps; ++step, to += width) {
      for (std::int64_t c = 0; c < width; c += kLanes) {
        const Mask mask = first_lanes(width - c);
        store_words(to + c, words_of<Form>(from, step, first + c, mask), mask);
      }
    }
  }
}

// Words of a row from a step on; zero beyond its end.
template <class Form>
XCPU_INLINE Words words_of_row(const xcpu_rows& rows, std::int64_t row, std::int64_t step, std::int64_t k) {
  const std::int64_t at = row * rows.stride + step * Form::kValues;
  const std::int64_t left = k - step * Form::kValues;
  if constexpr (Form::kValues == 1) {
    return as_words(load_any(rows.data, rows.dtype, at, first_lanes(left)));
  } else {
    const auto* halves = static_cast<const std::uint16_t*>(rows.data) + at;
    if (left >= 2 * kLanes) return load_words(halves, first_lanes(kLanes));
    alignas(64) std::uint16_t last[2 * kLanes] = {};
    for (std::int64_t i = 0; i < left; ++i) last[i] = halves[i];
    return load_words(last, first_lanes(kLanes));
  }
}

// The same from a matrix that is contiguous along its rows, which are the columns of a panel.
template <class Form>
void pack_rows_as(const xcpu_rows& rows, std::int64_t k, const ProductColumns& columns, void* packed) {
  auto* to = static_cast<std::uint32_t*>(packed);
  const std::int64_t steps = (k + Form::kValues - 1) / Form::kValues;
  for (std::int64_t first = columns.begin; first < columns.end; first += kPanelColumns) {
    const std::int64_t width = smaller_of(kPanelColumns, columns.end - first);
    for (std::int64_t c = 0; c < width; c += kLanes) {
      const std::int64_t count = smaller_of(kLanes, width - c);
      for (std::int64_t step = 0; step < steps; step += kLanes) {
        Words words[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i)
          words[i] = i < count ? words_of_row<Form>(rows, first + c + i, step, k) : fill_word(0);
        transpose(words);
        const std::int64_t end = smaller_of(kLanes, steps - step);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) {
          if (i < end) store_words(to + (step + i) * width + c, words[i], first_lanes(count));
        }
      }
    }
    to += steps * width;
  }
}

template <class Form>
void pack_any(const xcpu_product_args& args, const ProductColumns& columns, void* packed) {
  const xcpu_matrix& weight = args.weight;
  const xcpu_rows rows = rows_of(weight, columns.batch * args.weight_batch_stride);
  if (weight.row_stride == 1 || args.n == 1) {
    pack_as<Form>({rows.data, rows.dtype, weight.column_stride, args.k}, columns, packed);
  } else {
    pack_rows_as<Form>(rows, args.k, columns, packed);
  }
}

void pack(const xcpu_product_args& args, LinearForm form, const ProductColumns& columns, void* packed) {
  form == LinearForm::kBf16 ? pack_any<Bf16Form>(args, columns, packed)
                            : pack_any<F32Form>(args, columns, packed);
}

// The words of some rows of a block in one step. A form without an instruction for pairs has one word of each
// half.
template <class Form>
XCPU_INLINE void prepare_words(const Columns& from, std::int64_t step, std::int64_t row, std::int64_t count,
                               std::uint32_t* to) {
  const Mask mask = first_lanes(count);
  const Words words = words_of<Form>(from, step, row, mask);
  if constexpr (Form::kParts == 1) {
    store_words(to, words, mask);
  } else {
    alignas(64) std::uint32_t halves[kLanes];
    store_words(halves, words, first_lanes(kLanes));
    for (std::int64_t i = 0; i < smaller_of(count, kLanes); ++i) {
      to[2 * i] = halves[i] << 16;
      to[2 * i + 1] = halves[i] & 0xFFFF0000U;
    }
  }
}

template <class Form>
void prepare_as(const ProductInputs& inputs, std::int64_t block_begin, std::int64_t block_end) {
  const Columns from{inputs.x.data, inputs.x.dtype, inputs.x.column_stride, inputs.k};
  const std::int64_t steps = (inputs.k + Form::kValues - 1) / Form::kValues;
  const std::int64_t blocks = (inputs.rows + inputs.max_block - 1) / inputs.max_block;
  for (std::int64_t block = block_begin; block < block_end; ++block) {
    const std::int64_t first = inputs.rows * block / blocks;
    const std::int64_t rows = inputs.rows * (block + 1) / blocks - first;
    auto* to = static_cast<std::uint32_t*>(inputs.prepared) + first * steps * Form::kParts;
    for (std::int64_t step = 0; step < steps; ++step, to += rows * Form::kParts) {
      for (std::int64_t r = 0; r < rows; r += kLanes)
        prepare_words<Form>(from, step, first + r, rows - r, to + r * Form::kParts);
    }
  }
}

void prepare(const ProductInputs& inputs, LinearForm form, std::int64_t block_begin, std::int64_t block_end) {
  form == LinearForm::kBf16 ? prepare_as<Bf16Form>(inputs, block_begin, block_end)
                            : prepare_as<F32Form>(inputs, block_begin, block_end);
}

}  // namespace

const ProductKernels kProductKernels = {dots, pack, prepare};

}  // namespace xcpu::XCPU_ISA
