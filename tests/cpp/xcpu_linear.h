#pragma once
// Calls of xcpu's linear and what they should give: cases that are drawn, and a reference in float64.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "xcpu_team.h"
#include "xcpu_values.h"

namespace xcpu_test {

// A kind of weight and what its inputs are rounded to.
struct Form {
  std::string name;
  xcpu_kind kind;
  int group;
  xcpu_precision precision;
  double expected_loss;  // of a random product, relative
};

inline void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

// Of int4: a step is a 7.5th of the largest of a group of normal numbers, which are 2.4, 2.6 and 2.8 for 32,
// 64 and 128, and what is lost is even within a step, so a root of 12 of it. With 2% for the inputs and for
// chance.
inline const std::vector<Form> kForms = {{"f32", XCPU_W_F32, 0, XCPU_INPUT_INT8, 1e-6},
                                         {"bf16", XCPU_W_BF16, 0, XCPU_INPUT_INT8, 0.003},
                                         {"int8", XCPU_W_INT8, 0, XCPU_INPUT_INT8, 0.015},
                                         {"int4_32", XCPU_W_INT4, 32, XCPU_INPUT_INT8, 0.092},
                                         {"int4_64", XCPU_W_INT4, 64, XCPU_INPUT_INT8, 0.103},
                                         {"int4_128", XCPU_W_INT4, 128, XCPU_INPUT_INT8, 0.112},
                                         {"int4_32_bf16", XCPU_W_INT4, 32, XCPU_INPUT_BF16, 0.092},
                                         {"int4_128_bf16", XCPU_W_INT4, 128, XCPU_INPUT_BF16, 0.112}};

// What a kernel multiplies: the row as fp32, as bf16, or as quantised in its groups.
inline std::vector<double> inputs_of(const Rows& x, std::int64_t row, std::int64_t k, const Form& form) {
  std::vector<double> inputs;
  for (std::int64_t i = 0; i < k; ++i) inputs.push_back(x.at(row, i));
  const bool is_rounded =
      form.kind == XCPU_W_BF16 || (form.kind == XCPU_W_INT4 && form.precision == XCPU_INPUT_BF16);
  if (form.kind == XCPU_W_F32) return inputs;
  if (is_rounded) {
    for (double& input : inputs) input = rounded_to(XCPU_BF16, input);
    return inputs;
  }
  const auto group = static_cast<std::size_t>(form.group != 0 ? form.group : k);
  for (std::size_t begin = 0; begin < inputs.size(); begin += group) {
    double largest = 0;
    for (std::size_t i = begin; i < begin + group; ++i) largest = std::max(largest, std::fabs(inputs[i]));
    // As the kernel does it, in fp32: in between two integers the other one is as near, but not the same.
    const float factor = largest > 0 ? 127.0F / static_cast<float>(largest) : 0.0F;
    for (std::size_t i = begin; i < begin + group; ++i) {
      inputs[i] = std::nearbyint(static_cast<float>(inputs[i]) * factor) * largest / 127;
    }
  }
  return inputs;
}

struct Bounded {
  double value, error;  // what it is, and how far a kernel may be from it
};

inline double activated(xcpu_activation activation, double x) {
  switch (activation) {
    case XCPU_RELU: return std::max(x, 0.0);
    case XCPU_GELU: return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case XCPU_GELU_TANH: {
      const double argument = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
      return x / (1 + std::exp(-2 * argument));
    }
    case XCPU_SILU: return x / (1 + std::exp(-x));
    default: return x;
  }
}

// No activation is steeper than 1.13.
inline Bounded activated(xcpu_activation activation, Bounded x) {
  const double value = activated(activation, x.value);
  if (activation == XCPU_IDENTITY || activation == XCPU_RELU) return {value, x.error};
  return {value, 1.13 * x.error + 1e-6 * std::fabs(value) + 1e-30};
}

inline Bounded times(Bounded a, Bounded b) {
  const double value = a.value * b.value;
  return {value, std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error +
                     std::ldexp(std::fabs(value), -23)};
}

inline Bounded plus(Bounded a, Bounded b) {
  const double value = a.value + b.value;
  return {value, a.error + b.error + std::ldexp(std::fabs(value), -23)};
}

inline Bounded stored(xcpu_dtype dtype, Bounded x) {
  const double size = std::fabs(x.value) + x.error;
  const double half_of_last = dtype == XCPU_BF16 ? 0x1p-8 : dtype == XCPU_F16 ? 0x1p-11 : 0x1p-24;
  return {x.value, x.error + half_of_last * size + (dtype == XCPU_F16 ? 0x1p-24 : 1e-37)};
}

// One call: sizes, dtypes, operands.
struct LinearCase {
  Form form;
  std::int64_t rows, n, k;
  int pair, team;
  xcpu_dtype x, bias, mul, residual, out;
  bool has_bias, has_mul, has_residual;
  xcpu_activation activation;
  std::int64_t gap;  // elements between rows

  static LinearCase draw(Random& random, const Form& form, std::int64_t rows) {
    const std::vector<xcpu_dtype> dtypes = {XCPU_F32, XCPU_BF16, XCPU_F16};
    LinearCase drawn{};
    drawn.form = form;
    drawn.rows = rows;
    drawn.n = choose(random, 1, 100);
    drawn.k = form.group != 0 ? form.group * choose(random, 1, 3) : choose(random, 1, 200);
    drawn.pair = static_cast<int>(choose(random, 0, 1));
    drawn.team = static_cast<int>(choose(random, 1, 3));
    for (xcpu_dtype* dtype : {&drawn.x, &drawn.bias, &drawn.mul, &drawn.residual, &drawn.out}) {
      *dtype = one_of(random, dtypes);
    }
    for (bool* has : {&drawn.has_bias, &drawn.has_mul, &drawn.has_residual}) *has = choose(random, 0, 1) == 1;
    drawn.activation = static_cast<xcpu_activation>(choose(random, 0, 4));
    drawn.gap = choose(random, 0, 9);
    return drawn;
  }

  std::string text() const {
    return form.name + " rows " + std::to_string(rows) + " n " + std::to_string(n) + " k " +
           std::to_string(k) + " pair " + std::to_string(pair) + " team " + std::to_string(team) +
           " dtypes " + std::to_string(x) + std::to_string(bias) + std::to_string(mul) +
           std::to_string(residual) + std::to_string(out) + " bias, mul, residual " +
           std::to_string(has_bias) + std::to_string(has_mul) + std::to_string(has_residual) +
           " activation " + std::to_string(activation) + " gap " + std::to_string(gap);
  }
};

// A packed weight of random numbers, and its matrices unpacked.
struct PackedWeight {
  xcpu_packed packed;
  std::vector<std::unique_ptr<Rows>> matrices;

  PackedWeight(Random& random, const Form& form, std::int64_t n, std::int64_t k, int pair)
      : packed{nullptr, form.kind, form.group, pair, n, k} {
    const double scale = 1 / std::sqrt(static_cast<double>(k));
    for (int i = 0; i <= pair; ++i) {
      matrices.push_back(std::make_unique<Rows>(random, n, k, k, XCPU_F32, scale));
    }
    memory_ = std::make_unique<Guarded>(static_cast<std::size_t>(xcpu_packed_bytes(&packed)));
    const xcpu_matrix first = matrices.front()->matrix();
    const xcpu_matrix second = matrices.back()->matrix();
    const xcpu_matrix* other = pair != 0 ? &second : nullptr;
    EXPECT_EQ(xcpu_pack(&packed, &first, other, memory_->data(), nullptr), nullptr);
    packed.data = memory_->data();
    EXPECT_EQ(xcpu_unpack(&packed, &first, other, nullptr), nullptr);
  }

 private:
  std::unique_ptr<Guarded> memory_;
};

// The product of a row's inputs with one output's weights.
inline Bounded product(const std::vector<double>& inputs, const Rows& matrix, std::int64_t n) {
  double sum = 0;
  double size = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const double term = inputs[k] * matrix.at(n, static_cast<std::int64_t>(k));
    sum += term;
    size += std::fabs(term);
  }
  return {sum, size * 0x1p-24 * (8 + 2 * std::sqrt(static_cast<double>(inputs.size()))) + 1e-30};
}

// What lies between the rows of a result, before and after them, is as it was.
class Result {
 public:
  Result(std::int64_t rows, std::int64_t columns, std::int64_t stride, xcpu_dtype dtype)
      : rows_(rows),
        columns_(columns),
        stride_(stride),
        dtype_(dtype),
        bytes_(static_cast<std::size_t>((rows + 1) * stride + 64) * bytes_of(dtype), kUntouched) {}

  xcpu_rows get() { return {bytes_.data() + kBefore * bytes_of(dtype_), dtype_, stride_}; }
  double at(std::int64_t row, std::int64_t column) const {
    return read_element(bytes_.data() + kBefore * bytes_of(dtype_), dtype_, row * stride_ + column);
  }
  void expect_nothing_else_written() const {
    const std::size_t size = bytes_of(dtype_);
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const auto element = static_cast<std::int64_t>(i / size) - kBefore;
      const bool is_result = element >= 0 && element / stride_ < rows_ && element % stride_ < columns_;
      if (is_result) continue;
      ASSERT_EQ(bytes_[i], kUntouched) << "element " << element << " of " << rows_ << " rows";
    }
  }

 private:
  static constexpr std::int64_t kBefore = 32;
  static constexpr char kUntouched = 0x6B;
  std::int64_t rows_, columns_, stride_;
  xcpu_dtype dtype_;
  std::vector<char> bytes_;
};

struct Scratch {
  explicit Scratch(std::int64_t bytes) : memory(static_cast<std::size_t>(bytes)) {}
  void* data() const { return memory.data(); }
  Guarded memory;
};

// The operands of a case, and what its results should be.
struct Operands {
  Rows x, bias, mul, residual;
  PackedWeight weight;

  Operands(Random& random, const LinearCase& drawn)
      : x(random, drawn.rows, drawn.k, drawn.k + drawn.gap, drawn.x),
        bias(random, 1, drawn.n * (1 + drawn.pair), drawn.n * (1 + drawn.pair), drawn.bias),
        mul(random, drawn.rows, drawn.n, drawn.n + drawn.gap, drawn.mul),
        residual(random, drawn.rows, drawn.n, drawn.n + drawn.gap, drawn.residual),
        weight(random, drawn.form, drawn.n, drawn.k, drawn.pair) {}

  xcpu_linear_args args(const LinearCase& drawn, const xcpu_rows& out) const {
    xcpu_linear_args made{};
    made.rows = drawn.rows;
    made.x = x.get();
    made.weight = weight.packed;
    made.precision = drawn.form.precision;
    made.activation = drawn.activation;
    if (drawn.has_bias) made.bias = bias.get();
    if (drawn.has_mul) made.mul = mul.get();
    if (drawn.has_residual) made.residual = residual.get();
    made.out = out;
    return made;
  }

  Bounded expected(const LinearCase& drawn, const std::vector<double>& inputs, std::int64_t m,
                   std::int64_t n) const {
    Bounded value = product(inputs, *weight.matrices[0], n);
    if (drawn.has_bias) value = plus(value, {bias.at(0, n), 0});
    value = activated(drawn.activation, value);
    if (drawn.pair != 0) {
      Bounded other = product(inputs, *weight.matrices[1], n);
      if (drawn.has_bias) other = plus(other, {bias.at(0, drawn.n + n), 0});
      value = times(value, other);
    }
    if (drawn.has_mul) value = times(value, {mul.at(m, n), 0});
    if (drawn.has_residual) value = plus(value, {residual.at(m, n), 0});
    return stored(drawn.out, value);
  }
};

inline void expect_right(const LinearCase& drawn) {
  SCOPED_TRACE(drawn.text());
  Random random(static_cast<unsigned>(drawn.n * 131 + drawn.k));
  const Operands operands(random, drawn);
  Result out(drawn.rows, drawn.n, drawn.n + drawn.gap, drawn.out);
  const xcpu_linear_args args = operands.args(drawn, out.get());
  const Scratch scratch(xcpu_linear_scratch(&args));
  Team team(drawn.team);
  ASSERT_STREQ(xcpu_linear(&args, scratch.data(), team.get()), nullptr);
  out.expect_nothing_else_written();
  for (std::int64_t m = 0; m < drawn.rows; ++m) {
    const std::vector<double> inputs = inputs_of(operands.x, m, drawn.k, drawn.form);
    for (std::int64_t n = 0; n < drawn.n; ++n) {
      const Bounded expected = operands.expected(drawn, inputs, m, n);
      ASSERT_NEAR(out.at(m, n), expected.value, expected.error) << "row " << m << " output " << n;
    }
  }
}

// A plain product of fp32 inputs and outputs, run once.
struct Product {
  Rows x, source, out;
  PackedWeight weight;
  xcpu_linear_args args{};

  Product(Random& random, const Form& form, std::int64_t rows, std::int64_t n, std::int64_t k,
          const xcpu_team* team = nullptr)
      : x(random, rows, k, k, XCPU_F32),
        source(random, n, k, k, XCPU_F32),
        out(random, rows, n, n, XCPU_F32),
        weight(random, form, n, k, 0) {
    const xcpu_matrix matrix = source.matrix();
    EXPECT_EQ(xcpu_pack(&weight.packed, &matrix, nullptr, const_cast<void*>(weight.packed.data), nullptr),
              nullptr);
    args.rows = rows;
    args.x = x.get();
    args.weight = weight.packed;
    args.precision = form.precision;
    args.out = out.get();
    run(team);
  }

  void run(const xcpu_team* team) const {
    const Scratch scratch(xcpu_linear_scratch(&args));
    EXPECT_STREQ(xcpu_linear(&args, scratch.data(), team), nullptr);
  }
};

}  // namespace xcpu_test
