// RMS norm and layer norm, one instruction set. A row is read again from the cache for each of its passes.

#include "norm.h"

#include "rows.h"

namespace xcpu::XCPU_ISA {
namespace {

struct Statistics {
  float mean, scale;
};

// What is normalised, by the vector.
template <int kDtype>
struct Source {
  xcpu_rows x, residual;
  std::int64_t x_at, residual_at;

  XCPU_INLINE Floats operator()(std::int64_t at, Mask mask) const {
    const Floats value = load_as<kDtype>(x, x_at + at, mask);
    return residual.data == nullptr ? value : add(value, load_as<kDtype>(residual, residual_at + at, mask));
  }
};

template <int kDtype>
XCPU_INLINE Source<kDtype> row_of(const xcpu_rows& x, std::int64_t row) {
  return {x, {}, row * x.stride, 0};
}

XCPU_INLINE float scale_of(float squares, std::int64_t columns, float epsilon) {
  return 1.0F / __builtin_sqrtf(squares / static_cast<float>(columns) + epsilon);
}

// The squares are summed of differences from the mean: nothing cancels.
template <int kDtype>
XCPU_INLINE Statistics layer_statistics(const Source<kDtype>& source, std::int64_t columns, float epsilon) {
  FourSums total;
  for_vectors(0, columns, [&](int turn, std::int64_t at, Mask mask) {
    total.of[turn] = add(total.of[turn], source(at, mask));
  });
  const float mean = total.total() / static_cast<float>(columns);
  const Floats means = fill(mean);
  const std::int64_t whole = columns / kLanes * kLanes;
  FourSums squares;
  for_vectors(0, whole, [&](int turn, std::int64_t at, Mask mask) {
    const Floats difference = subtract(source(at, mask), means);
    squares.of[turn] = multiply_add(difference, difference, squares.of[turn]);
  });
  float rest = 0;
  if (whole < columns) {
    // Lanes beyond the end are zero, which differs from the mean.
    alignas(64) float differences[kLanes];
    const Mask mask = first_lanes(columns - whole);
    store(differences, subtract(source(whole, mask), means), first_lanes(kLanes));
    for (std::int64_t i = 0; i < columns - whole; ++i) rest += differences[i] * differences[i];
  }
  return {mean, scale_of(squares.total() + rest, columns, epsilon)};
}

template <int kDtype>
XCPU_INLINE Statistics rms_statistics(const Source<kDtype>& source, std::int64_t columns, float epsilon) {
  FourSums squares;
  for_vectors(0, columns, [&](int turn, std::int64_t at, Mask mask) {
    const Floats value = source(at, mask);
    squares.of[turn] = multiply_add(value, value, squares.of[turn]);
  });
  return {0.0F, scale_of(squares.total(), columns, epsilon)};
}

template <int kDtype>
XCPU_INLINE Floats weight_at(const xcpu_rows& weight, xcpu_norm_form form, std::int64_t at, Mask mask) {
  if (weight.data == nullptr) return fill(1.0F);
  const Floats value = load_as<kDtype>(weight, at, mask);
  return form == XCPU_RMS_NORM_PLUS_ONE ? add(value, fill(1.0F)) : value;
}

// Memory is not idle while a row is written: the next one comes to the cache.
template <int kDtype>
XCPU_INLINE const char* address_of(const xcpu_rows& rows, std::int64_t at) {
  const std::int64_t bytes = kDtype == XCPU_F32 || rows.dtype == XCPU_F32 ? 4 : 2;
  return static_cast<const char*>(rows.data) + at * bytes;
}

// RMS norm with a weight and without a residual, as it mostly is: nothing is asked in its loop.
template <int kDtype>
XCPU_INLINE void write_rms_row(const Source<kDtype>& source, const xcpu_rows& weight, const xcpu_rows& out,
                               std::int64_t row, std::int64_t columns, Floats scale) {
  const char* next = address_of<kDtype>(source.x, source.x_at + source.x.stride);
  const std::int64_t bytes = address_of<kDtype>(source.x, 1) - address_of<kDtype>(source.x, 0);
  const std::int64_t begin = row * out.stride;
  for_vectors(0, columns, [&](int, std::int64_t at, Mask mask) {
    __builtin_prefetch(next + at * bytes);
    const Floats normal = multiply(load_as<kDtype>(source.x, source.x_at + at, mask), scale);
    store_as<kDtype>(out, begin + at, multiply(normal, load_as<kDtype>(weight, at, mask)), mask);
  });
}

template <int kDtype>
void normalise_row(const xcpu_norm_args& args, std::int64_t row) {
  Source<kDtype> source{args.x, args.residual, row * args.x.stride, row * args.residual.stride};
  if (args.sum.data != nullptr) {
    const std::int64_t begin = row * args.sum.stride;
    for_vectors(0, args.columns, [&](int, std::int64_t at, Mask mask) {
      store_as<kDtype>(args.sum, begin + at, source(at, mask), mask);
    });
    source = row_of<kDtype>(args.sum, row);
  }
  const Statistics found = args.form == XCPU_LAYER_NORM ? layer_statistics(source, args.columns, args.epsilon)
                                                        : rms_statistics(source, args.columns, args.epsilon);
  if (args.mean != nullptr) args.mean[row] = found.mean;
  if (args.scale != nullptr) args.scale[row] = found.scale;
  const Floats mean = fill(found.mean);
  const Floats scale = fill(found.scale);
  const bool has_residual = source.residual.data != nullptr;
  if (args.form == XCPU_RMS_NORM && args.weight.data != nullptr && args.bias.data == nullptr &&
      !has_residual) {
    return write_rms_row<kDtype>(source, xcpu_rows(args.weight), xcpu_rows(args.out), row, args.columns,
                                 scale);
  }
  const std::int64_t out = row * args.out.stride;
  for_vectors(0, args.columns, [&](int, std::int64_t at, Mask mask) {
    const Floats normal = multiply(subtract(source(at, mask), mean), scale);
    Floats value = multiply(normal, weight_at<kDtype>(args.weight, args.form, at, mask));
    if (args.bias.data != nullptr) value = add(value, load_as<kDtype>(args.bias, at, mask));
    store_as<kDtype>(args.out, out + at, value, mask);
  });
}

template <int kDtype>
void normalise_rows(const xcpu_norm_args& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) normalise_row<kDtype>(args, row);
}

void forward(const xcpu_norm_args& args, std::int64_t begin, std::int64_t end) {
  switch (common_dtype(args.x, args.residual, args.weight, args.bias, args.sum, args.out)) {
    case XCPU_F32: return normalise_rows<XCPU_F32>(args, begin, end);
    case XCPU_BF16: return normalise_rows<XCPU_BF16>(args, begin, end);
    default: return normalise_rows<kAnyDtype>(args, begin, end);
  }
}

void statistics_of(const xcpu_norm_backward_args& args, float* statistics, std::int64_t begin,
                   std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    Statistics found{0.0F, 0.0F};
    const bool is_layer = args.form == XCPU_LAYER_NORM;
    if (args.scale == nullptr || (is_layer && args.mean == nullptr)) {
      const auto source = row_of<kAnyDtype>(args.x, row);
      found = is_layer ? layer_statistics(source, args.columns, args.epsilon)
                       : rms_statistics(source, args.columns, args.epsilon);
    }
    if (is_layer && args.mean != nullptr) found.mean = args.mean[row];
    if (args.scale != nullptr) found.scale = args.scale[row];
    statistics[2 * row] = found.mean;
    statistics[2 * row + 1] = found.scale;
  }
}

// grad * weight, and what was normalised, of one row.
template <int kDtype>
struct Gradient {
  const xcpu_norm_backward_args& args;
  std::int64_t row;
  Floats mean, scale;

  XCPU_INLINE Gradient(const xcpu_norm_backward_args& of, const float* statistics, std::int64_t at_row)
      : args(of), row(at_row), mean(fill(statistics[2 * at_row])), scale(fill(statistics[2 * at_row + 1])) {}

  XCPU_INLINE Floats plain(std::int64_t at, Mask mask) const {
    return load_as<kDtype>(args.grad, row * args.grad.stride + at, mask);
  }
  XCPU_INLINE Floats weighted(std::int64_t at, Mask mask) const {
    return multiply(plain(at, mask), weight_at<kDtype>(args.weight, args.form, at, mask));
  }
  XCPU_INLINE Floats normal(std::int64_t at, Mask mask) const {
    return multiply(subtract(load_as<kDtype>(args.x, row * args.x.stride + at, mask), mean), scale);
  }
};

// Beyond a row's end gradients are zero, so what is summed with them is.
template <int kDtype>
void backward_row(const xcpu_norm_backward_args& args, const float* statistics, std::int64_t row) {
  const Gradient<kDtype> gradient(args, statistics, row);
  FourSums plain;
  FourSums along;
  for_vectors(0, args.columns, [&](int turn, std::int64_t at, Mask mask) {
    const Floats weighted = gradient.weighted(at, mask);
    plain.of[turn] = add(plain.of[turn], weighted);
    along.of[turn] = multiply_add(weighted, gradient.normal(at, mask), along.of[turn]);
  });
  const auto columns = static_cast<float>(args.columns);
  const Floats mean = fill(args.form == XCPU_LAYER_NORM ? plain.total() / columns : 0.0F);
  const Floats slope = fill(along.total() / columns);
  const std::int64_t out = row * args.grad_x.stride;
  for_vectors(0, args.columns, [&](int, std::int64_t at, Mask mask) {
    const Floats across = subtract(gradient.weighted(at, mask), mean);
    Floats value = multiply(subtract(across, multiply(gradient.normal(at, mask), slope)), gradient.scale);
    if (args.grad_sum.data != nullptr) {
      value = add(value, load_as<kDtype>(args.grad_sum, row * args.grad_sum.stride + at, mask));
    }
    store_as<kDtype>(args.grad_x, out + at, value, mask);
  });
}

// What becomes of weight and bias: sums over the rows, of some rows at a time, so that no sum has many terms.
constexpr std::int64_t kRowsTogether = 64;
constexpr int kVectorsTogether = 2;

template <int kDtype>
void sum_columns(const xcpu_norm_backward_args& args, const float* statistics, std::int64_t column,
                 std::int64_t end) {
  Mask masks[kVectorsTogether];
  Floats weight[kVectorsTogether];
  Floats bias[kVectorsTogether];
  for (int v = 0; v < kVectorsTogether; ++v) {
    masks[v] = first_lanes(end - column - v * kLanes);
    weight[v] = bias[v] = fill(0.0F);
  }
  for (std::int64_t first = 0; first < args.rows; first += kRowsTogether) {
    Floats part_of_weight[kVectorsTogether];
    Floats part_of_bias[kVectorsTogether];
    for (int v = 0; v < kVectorsTogether; ++v) part_of_weight[v] = part_of_bias[v] = fill(0.0F);
    for (std::int64_t row = first; row < smaller_of(first + kRowsTogether, args.rows); ++row) {
      const Gradient<kDtype> gradient(args, statistics, row);
      for (int v = 0; v < kVectorsTogether; ++v) {
        const Floats plain = gradient.plain(column + v * kLanes, masks[v]);
        part_of_weight[v] =
            multiply_add(plain, gradient.normal(column + v * kLanes, masks[v]), part_of_weight[v]);
        part_of_bias[v] = add(part_of_bias[v], plain);
      }
    }
    for (int v = 0; v < kVectorsTogether; ++v) {
      weight[v] = add(weight[v], part_of_weight[v]);
      bias[v] = add(bias[v], part_of_bias[v]);
    }
  }
  for (int v = 0; v < kVectorsTogether; ++v) {
    const std::int64_t at = column + v * kLanes;
    if (args.grad_weight.data != nullptr) store_as<kDtype>(args.grad_weight, at, weight[v], masks[v]);
    if (args.grad_bias.data != nullptr) store_as<kDtype>(args.grad_bias, at, bias[v], masks[v]);
  }
}

int dtype_of(const xcpu_norm_backward_args& args) {
  return common_dtype(args.x, args.grad, args.grad_sum, args.weight, args.grad_x, args.grad_weight,
                      args.grad_bias);
}

template <int kDtype>
void backward_rows_as(const xcpu_norm_backward_args& args, const float* statistics, std::int64_t begin,
                      std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) backward_row<kDtype>(args, statistics, row);
}

void backward_rows(const xcpu_norm_backward_args& args, const float* statistics, std::int64_t begin,
                   std::int64_t end) {
  switch (dtype_of(args)) {
    case XCPU_F32: return backward_rows_as<XCPU_F32>(args, statistics, begin, end);
    case XCPU_BF16: return backward_rows_as<XCPU_BF16>(args, statistics, begin, end);
    default: return backward_rows_as<kAnyDtype>(args, statistics, begin, end);
  }
}

template <int kDtype>
void backward_columns_as(const xcpu_norm_backward_args& args, const float* statistics, std::int64_t begin,
                         std::int64_t end) {
  for (std::int64_t column = begin; column < end; column += kVectorsTogether * kLanes) {
    sum_columns<kDtype>(args, statistics, column, end);
  }
}

void backward_columns(const xcpu_norm_backward_args& args, const float* statistics, std::int64_t begin,
                      std::int64_t end) {
  switch (dtype_of(args)) {
    case XCPU_F32: return backward_columns_as<XCPU_F32>(args, statistics, begin, end);
    case XCPU_BF16: return backward_columns_as<XCPU_BF16>(args, statistics, begin, end);
    default: return backward_columns_as<kAnyDtype>(args, statistics, begin, end);
  }
}

}  // namespace

const NormKernels kNormKernels = {forward, statistics_of, backward_rows, backward_columns};

}  // namespace xcpu::XCPU_ISA
