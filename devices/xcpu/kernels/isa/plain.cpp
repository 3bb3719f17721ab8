// Activations, softmax and embedding bags, one instruction set.

#include "plain.h"

#include "rows.h"

namespace xcpu::XCPU_ISA {
namespace {

XCPU_INLINE Floats sigmoid(Floats x) {
  return divide(fill(1.0F), add(fill(1.0F), exponential(subtract(fill(0.0F), x))));
}

// x * s'(x) of a sigmoid that is s(x), and its argument's slope; 0 where both are far away.
XCPU_INLINE Floats slope_of_gate(Floats x, Floats gate, Floats slope) {
  const Floats change = multiply(gate, subtract(fill(1.0F), gate));
  return multiply_add(multiply(x, slope), change, gate);
}

XCPU_INLINE Floats slope_of_gelu_tanh(Floats x) {
  constexpr float kTwice = 1.5957691216057308F;
  const Floats square = multiply(x, x);
  const Floats argument =
      multiply(multiply(x, multiply_add(square, fill(0.044715F), fill(1.0F))), fill(kTwice));
  const Floats slope = multiply(multiply_add(square, fill(3 * 0.044715F), fill(1.0F)), fill(kTwice));
  return slope_of_gate(x, sigmoid(argument), slope);
}

// Phi(x) + x * phi(x), where Phi is gelu(x) / x but near 0, where it is a half and a little.
XCPU_INLINE Floats slope_of_gelu(Floats x) {
  const Floats density =
      multiply(exponential(multiply(multiply(x, x), fill(-0.5F))), fill(0.39894228040143268F));
  const Floats near = multiply_add(x, fill(0.39894228040143268F), fill(0.5F));
  const Floats is_near = absolute(x);
  const Floats distribution = select_less(is_near, fill(1e-3F), near,
                                          divide(gelu(x), select_less(is_near, fill(1e-3F), fill(1.0F), x)));
  return multiply_add(x, density, distribution);
}

XCPU_INLINE Floats slope_of(xcpu_activation activation, Floats x) {
  switch (activation) {
    case XCPU_RELU: return select_less(fill(0.0F), x, fill(1.0F), fill(0.0F));
    case XCPU_GELU: return slope_of_gelu(x);
    case XCPU_GELU_TANH: return slope_of_gelu_tanh(x);
    case XCPU_SILU: return slope_of_gate(x, sigmoid(x), fill(1.0F));
    default: return fill(1.0F);
  }
}

// out = function(x), or grad * function(x).
template <int kDtype, bool kIsGradient, class Function>
XCPU_INLINE void map_row(const xcpu_activation_args& args, std::int64_t row, std::int64_t begin,
                         std::int64_t end, Function function) {
  for_vectors(begin, end, [&](int, std::int64_t at, Mask mask) {
    Floats value = function(load_as<kDtype>(args.x, row * args.x.stride + at, mask));
    if constexpr (kIsGradient) {
      value = multiply(load_as<kDtype>(args.grad, row * args.grad.stride + at, mask), value);
    }
    store_as<kDtype>(args.out, row * args.out.stride + at, value, mask);
  });
}

// A loop for each function: one that asked which for every vector would be half as fast.
template <int kDtype, int kActivation>
void activate_by(const xcpu_activation_args& args, std::int64_t row, std::int64_t begin, std::int64_t end) {
  constexpr auto kFunction = static_cast<xcpu_activation>(kActivation);
  if (args.grad.data == nullptr) {
    map_row<kDtype, false>(args, row, begin, end, [](Floats x) { return activate(kFunction, x); });
  } else {
    map_row<kDtype, true>(args, row, begin, end, [](Floats x) { return slope_of(kFunction, x); });
  }
}

template <int kDtype>
void activate_as(const xcpu_activation_args& args, std::int64_t row, std::int64_t begin, std::int64_t end) {
  switch (args.activation) {
    case XCPU_RELU: return activate_by<kDtype, XCPU_RELU>(args, row, begin, end);
    case XCPU_GELU: return activate_by<kDtype, XCPU_GELU>(args, row, begin, end);
    case XCPU_GELU_TANH: return activate_by<kDtype, XCPU_GELU_TANH>(args, row, begin, end);
    case XCPU_SILU: return activate_by<kDtype, XCPU_SILU>(args, row, begin, end);
    default: return activate_by<kDtype, XCPU_IDENTITY>(args, row, begin, end);
  }
}

void activate_row(const xcpu_activation_args& args, std::int64_t row, std::int64_t begin, std::int64_t end) {
  switch (common_dtype(args.x, args.grad, args.out)) {
    case XCPU_F32: return activate_as<XCPU_F32>(args, row, begin, end);
    case XCPU_BF16: return activate_as<XCPU_BF16>(args, row, begin, end);
    default: return activate_as<kAnyDtype>(args, row, begin, end);
  }
}

// Lanes beyond the end would be zero, which may be the largest, and has a weight.
XCPU_INLINE Floats or_else(Floats values, std::int64_t count, float other) {
  if (count >= kLanes) return values;
  alignas(64) float lanes[kLanes];
  store(lanes, values, first_lanes(kLanes));
  for (std::int64_t i = count; i < kLanes; ++i) lanes[i] = other;
  return load(lanes, first_lanes(kLanes));
}

constexpr float kLeast = -__builtin_inff();

// Several sums grow side by side, one for each turn of for_vectors.
constexpr int kTurns = 4;
struct Four {
  Floats of[kTurns];
  explicit XCPU_INLINE Four(float value) : of{fill(value), fill(value), fill(value), fill(value)} {}
};

// Exponentials that are kept from their sum to their quotient; of longer rows they are computed twice.
constexpr std::int64_t kKept = 4096;

// Calls step(turn, at, count, mask) for every vector; count is kLanes but for the last.
template <class Step>
XCPU_INLINE void for_columns(std::int64_t columns, Step step) {
  const std::int64_t whole = columns - columns % kLanes;
  for_vectors(0, whole, [&](int turn, std::int64_t at, Mask mask) { step(turn, at, kLanes, mask); });
  if (whole < columns) step(0, whole, columns - whole, first_lanes(columns - whole));
}

template <int kDtype>
void softmax_forward(const xcpu_softmax_args& args, std::int64_t row) {
  const auto x = [&](std::int64_t at, std::int64_t count, Mask mask) {
    return or_else(load_as<kDtype>(args.x, row * args.x.stride + at, mask), count, kLeast);
  };
  const bool is_kept = args.columns <= kKept && args.logarithm == 0;
  alignas(64) float kept[kKept];
  Four tops(kLeast);
  for_columns(args.columns, [&](int turn, std::int64_t at, std::int64_t count, Mask mask) {
    tops.of[turn] = larger(x(at, count, mask), tops.of[turn]);
  });
  const Floats most = fill(largest(larger(larger(tops.of[0], tops.of[1]), larger(tops.of[2], tops.of[3]))));
  Four totals(0.0F);
  for_columns(args.columns, [&](int turn, std::int64_t at, std::int64_t count, Mask mask) {
    const Floats value = exponential(subtract(x(at, count, mask), most));
    if (is_kept) store(kept + at, value, mask);
    totals.of[turn] = add(totals.of[turn], value);
  });
  const float all = sum(add(add(totals.of[0], totals.of[1]), add(totals.of[2], totals.of[3])));
  const Floats factor = fill(1.0F / all);
  const Floats logarithm = fill(__builtin_logf(all));
  for_columns(args.columns, [&](int, std::int64_t at, std::int64_t count, Mask mask) {
    Floats value;
    if (is_kept) {
      value = multiply(load(kept + at, mask), factor);
    } else {
      const Floats score = subtract(x(at, count, mask), most);
      value = args.logarithm != 0 ? subtract(score, logarithm) : multiply(exponential(score), factor);
    }
    store_as<kDtype>(args.out, row * args.out.stride + at, value, mask);
  });
}

template <int kDtype>
void softmax_backward(const xcpu_softmax_args& args, std::int64_t row) {
  const auto grad = [&](std::int64_t at, Mask mask) {
    return load_as<kDtype>(args.grad, row * args.grad.stride + at, mask);
  };
  const auto given = [&](std::int64_t at, Mask mask) {
    return load_as<kDtype>(args.x, row * args.x.stride + at, mask);
  };
  Four totals(0.0F);
  for_vectors(0, args.columns, [&](int turn, std::int64_t at, Mask mask) {
    const Floats value = grad(at, mask);
    totals.of[turn] = args.logarithm != 0 ? add(totals.of[turn], value)
                                          : multiply_add(value, given(at, mask), totals.of[turn]);
  });
  const Floats all = fill(sum(add(add(totals.of[0], totals.of[1]), add(totals.of[2], totals.of[3]))));
  for_vectors(0, args.columns, [&](int, std::int64_t at, Mask mask) {
    const Floats value = args.logarithm != 0
                             ? subtract(grad(at, mask), multiply(exponential(given(at, mask)), all))
                             : multiply(subtract(grad(at, mask), all), given(at, mask));
    store_as<kDtype>(args.out, row * args.out.stride + at, value, mask);
  });
}

template <int kDtype>
void softmax_as(const xcpu_softmax_args& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    args.grad.data == nullptr ? softmax_forward<kDtype>(args, row) : softmax_backward<kDtype>(args, row);
  }
}

void softmax(const xcpu_softmax_args& args, std::int64_t begin, std::int64_t end) {
  switch (common_dtype(args.x, args.grad, args.out)) {
    case XCPU_F32: return softmax_as<XCPU_F32>(args, begin, end);
    case XCPU_BF16: return softmax_as<XCPU_BF16>(args, begin, end);
    default: return softmax_as<kAnyDtype>(args, begin, end);
  }
}

// Columns that are summed together, and how many rows ahead the next are asked for, those of the next bag
// too.
constexpr int kBagVectors = 8;
constexpr std::int64_t kRowsAhead = 8;

template <int kDtype, int kVectors>
void sum_bag(const xcpu_bag_args& args, std::int64_t bag, std::int64_t column) {
  const std::int64_t begin = args.starts[bag];
  const std::int64_t end = args.starts[bag + 1];
  const std::int64_t element = args.table.dtype == XCPU_F32 ? 4 : 2;
  const std::int64_t all = args.starts[args.bags];
  Floats sums[kVectors];
  Mask masks[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = fill(0.0F);
    masks[v] = first_lanes(args.columns - column - v * kLanes);
  }
  std::int64_t counted = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    if (i + kRowsAhead < all) {
      const std::int64_t next = args.indices[i + kRowsAhead] * args.table.stride + column;
      const auto* ahead = static_cast<const std::uint8_t*>(args.table.data) + next * element;
      const std::int64_t bytes = smaller_of(args.columns - column, kVectors * kLanes) * element;
      for (std::int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(ahead + byte);
    }
    if (args.indices[i] == args.padding) continue;
    ++counted;
    const Floats weight = fill(args.weights == nullptr ? 1.0F : args.weights[i]);
    const std::int64_t row = args.indices[i] * args.table.stride + column;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = multiply_add(load_as<kDtype>(args.table, row + v * kLanes, masks[v]), weight, sums[v]);
    }
  }
  const Floats factor = fill(args.mean != 0 && counted > 0 ? 1.0F / static_cast<float>(counted) : 1.0F);
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    store_any(args.out.data, args.out.dtype, bag * args.out.stride + column + v * kLanes,
              multiply(sums[v], factor), masks[v]);
  }
}

// As few vectors as the last columns take.
template <int kDtype, int kVectors>
XCPU_INLINE void sum_last(const xcpu_bag_args& args, std::int64_t bag, std::int64_t column) {
  if constexpr (kVectors > 1) {
    if (args.columns - column <= kVectors / 2 * kLanes)
      return sum_last<kDtype, kVectors / 2>(args, bag, column);
  }
  sum_bag<kDtype, kVectors>(args, bag, column);
}

template <int kDtype>
void bags_as(const xcpu_bag_args& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t bag = begin; bag < end; ++bag) {
    for (std::int64_t column = 0; column < args.columns; column += kBagVectors * kLanes) {
      sum_last<kDtype, kBagVectors>(args, bag, column);
    }
  }
}

void embedding_bag(const xcpu_bag_args& args, std::int64_t begin, std::int64_t end) {
  switch (common_dtype(args.table)) {
    case XCPU_F32: return bags_as<XCPU_F32>(args, begin, end);
    case XCPU_BF16: return bags_as<XCPU_BF16>(args, begin, end);
    default: return bags_as<kAnyDtype>(args, begin, end);
  }
}

}  // namespace

const PlainKernels kPlainKernels = {activate_row, softmax, embedding_bag};

}  // namespace xcpu::XCPU_ISA
