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

template <int kDtype>
void activate_as(const xcpu_activation_args& args, std::int64_t row, std::int64_t begin, std::int64_t end) {
  for_vectors(begin, end, [&](int, std::int64_t at, Mask mask) {
    const Floats x = load_as<kDtype>(args.x, row * args.x.stride + at, mask);
    const Floats value = args.grad.data == nullptr
                             ? activate(args.activation, x)
                             : multiply(load_as<kDtype>(args.grad, row * args.grad.stride + at, mask),
                                        slope_of(args.activation, x));
    store_as<kDtype>(args.out, row * args.out.stride + at, value, mask);
  });
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

void softmax_forward(const xcpu_softmax_args& args, std::int64_t row) {
  const auto at = [&](std::int64_t i, Mask mask) {
    const Floats values = load_any(args.x.data, args.x.dtype, row * args.x.stride + i, mask);
    return or_else(values, args.columns - i, kLeast);
  };
  Floats top = fill(kLeast);
  for (std::int64_t i = 0; i < args.columns; i += kLanes) {
    top = larger(at(i, first_lanes(args.columns - i)), top);
  }
  const Floats most = fill(largest(top));
  Floats total = fill(0.0F);
  for (std::int64_t i = 0; i < args.columns; i += kLanes) {
    total = add(total, exponential(subtract(at(i, first_lanes(args.columns - i)), most)));
  }
  const float all = sum(total);
  const Floats factor = fill(1.0F / all);
  const Floats logarithm = fill(__builtin_logf(all));
  for (std::int64_t i = 0; i < args.columns; i += kLanes) {
    const Mask mask = first_lanes(args.columns - i);
    const Floats score = subtract(at(i, mask), most);
    const Floats value =
        args.logarithm != 0 ? subtract(score, logarithm) : multiply(exponential(score), factor);
    store_any(args.out.data, args.out.dtype, row * args.out.stride + i, value, mask);
  }
}

void softmax_backward(const xcpu_softmax_args& args, std::int64_t row) {
  const auto grad = [&](std::int64_t i, Mask mask) {
    return load_any(args.grad.data, args.grad.dtype, row * args.grad.stride + i, mask);
  };
  const auto given = [&](std::int64_t i, Mask mask) {
    return load_any(args.x.data, args.x.dtype, row * args.x.stride + i, mask);
  };
  Floats total = fill(0.0F);
  for (std::int64_t i = 0; i < args.columns; i += kLanes) {
    const Mask mask = first_lanes(args.columns - i);
    const Floats value = grad(i, mask);
    total = args.logarithm != 0 ? add(total, value) : multiply_add(value, given(i, mask), total);
  }
  const Floats all = fill(sum(total));
  for (std::int64_t i = 0; i < args.columns; i += kLanes) {
    const Mask mask = first_lanes(args.columns - i);
    const Floats value = args.logarithm != 0
                             ? subtract(grad(i, mask), multiply(exponential(given(i, mask)), all))
                             : multiply(subtract(grad(i, mask), all), given(i, mask));
    store_any(args.out.data, args.out.dtype, row * args.out.stride + i, value, mask);
  }
}

void softmax(const xcpu_softmax_args& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    args.grad.data == nullptr ? softmax_forward(args, row) : softmax_backward(args, row);
  }
}

// Columns that are summed together, and how many rows ahead the next are asked for.
constexpr int kBagVectors = 8;
constexpr std::int64_t kRowsAhead = 8;

template <int kDtype>
void sum_bag(const xcpu_bag_args& args, std::int64_t bag, std::int64_t column) {
  const std::int64_t begin = args.starts[bag];
  const std::int64_t end = args.starts[bag + 1];
  const std::int64_t element = args.table.dtype == XCPU_F32 ? 4 : 2;
  Floats sums[kBagVectors];
  Mask masks[kBagVectors];
  for (int v = 0; v < kBagVectors; ++v) {
    sums[v] = fill(0.0F);
    masks[v] = first_lanes(args.columns - column - v * kLanes);
  }
  std::int64_t counted = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    if (i + kRowsAhead < end) {
      const std::int64_t next = args.indices[i + kRowsAhead] * args.table.stride + column;
      const auto* ahead = static_cast<const std::uint8_t*>(args.table.data) + next * element;
      const std::int64_t bytes = smaller_of(args.columns - column, kBagVectors * kLanes) * element;
      for (std::int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(ahead + byte);
    }
    if (args.indices[i] == args.padding) continue;
    ++counted;
    const Floats weight = fill(args.weights == nullptr ? 1.0F : args.weights[i]);
    const std::int64_t row = args.indices[i] * args.table.stride + column;
    for (int v = 0; v < kBagVectors; ++v) {
      sums[v] = multiply_add(load_as<kDtype>(args.table, row + v * kLanes, masks[v]), weight, sums[v]);
    }
  }
  const Floats factor = fill(args.mean != 0 && counted > 0 ? 1.0F / static_cast<float>(counted) : 1.0F);
  for (int v = 0; v < kBagVectors; ++v) {
    store_any(args.out.data, args.out.dtype, bag * args.out.stride + column + v * kLanes,
              multiply(sums[v], factor), masks[v]);
  }
}

void embedding_bag(const xcpu_bag_args& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t bag = begin; bag < end; ++bag) {
    for (std::int64_t column = 0; column < args.columns; column += kBagVectors * kLanes) {
      switch (common_dtype(args.table)) {
        case XCPU_F32: sum_bag<XCPU_F32>(args, bag, column); break;
        case XCPU_BF16: sum_bag<XCPU_BF16>(args, bag, column); break;
        default: sum_bag<kAnyDtype>(args, bag, column); break;
      }
    }
  }
}

}  // namespace

const PlainKernels kPlainKernels = {activate_row, softmax, embedding_bag};

}  // namespace xcpu::XCPU_ISA
