// Activations, softmax and their gradients, and embedding bags, against float64.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "xcpu_heads.h"

namespace xcpu_test {
namespace {

const std::vector<xcpu_dtype> kDtypes = {XCPU_F32, XCPU_BF16, XCPU_F16};

class XcpuPlain : public OfEachIsa {};
INSTANTIATE_TEST_SUITE_P(All, XcpuPlain, testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

double slope(xcpu_activation activation, double x) {
  const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
  switch (activation) {
    case XCPU_RELU: return x > 0 ? 1 : 0;
    case XCPU_GELU:
      return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    case XCPU_GELU_TANH: {
      const double twice = 2 * std::sqrt(2 / M_PI);
      const double s = sigmoid(twice * (x + 0.044715 * x * x * x));
      return s + x * s * (1 - s) * twice * (1 + 3 * 0.044715 * x * x);
    }
    case XCPU_SILU: return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    default: return 1;
  }
}

struct Drawn {
  std::int64_t rows, columns, gap;
  int team;
  xcpu_dtype x, grad, out;

  static Drawn draw(Random& random, bool is_large) {
    Drawn drawn{};
    drawn.rows = choose(random, 1, is_large ? 40 : 5);
    drawn.columns = choose(random, is_large ? 500 : 1, is_large ? 9000 : 100);
    if (is_large) drawn.rows = std::min<std::int64_t>(drawn.rows, 40000 / drawn.columns + 1);
    drawn.gap = choose(random, 0, 3);
    drawn.team = static_cast<int>(choose(random, 1, 3));
    drawn.x = one_of(random, kDtypes);
    const bool is_one_dtype = choose(random, 0, 1) == 0;
    drawn.grad = is_one_dtype ? drawn.x : one_of(random, kDtypes);
    drawn.out = is_one_dtype ? drawn.x : one_of(random, kDtypes);
    return drawn;
  }
};

struct Operands3 {
  Rows x, grad;
  Result out;
  Operands3(Random& random, const Drawn& drawn, double scale)
      : x(random, drawn.rows, drawn.columns, drawn.columns + drawn.gap, drawn.x, scale),
        grad(random, drawn.rows, drawn.columns, drawn.columns + 2 * drawn.gap, drawn.grad),
        out(drawn.rows, drawn.columns, drawn.columns + drawn.gap, drawn.out) {}
};

TEST_P(XcpuPlain, activations_and_their_gradients_are_within_rounding_of_float64) {
  for (const xcpu_activation activation : {XCPU_IDENTITY, XCPU_RELU, XCPU_GELU, XCPU_GELU_TANH, XCPU_SILU}) {
    for (unsigned repeat = 0; repeat < (is_full_sweep() ? 200 : 12); ++repeat) {
      Random random(repeat);
      const Drawn drawn = Drawn::draw(random, repeat % 6 == 0);
      Operands3 operands(random, drawn, repeat % 2 == 0 ? 1 : 4);
      operands.x.set(0, 0, repeat % 3 == 0 ? 0.0 : repeat % 3 == 1 ? 1e-4 : -100.0);
      const bool is_gradient = repeat % 4 < 2;
      const xcpu_activation_args args{activation,
                                      drawn.rows,
                                      drawn.columns,
                                      operands.x.get(),
                                      if_given(is_gradient, operands.grad.get()),
                                      operands.out.get()};
      Team team(drawn.team);
      ASSERT_STREQ(xcpu_activate(&args, team.get()), nullptr);
      operands.out.expect_nothing_else_written();
      for (std::int64_t row = 0; row < drawn.rows; ++row) {
        for (std::int64_t c = 0; c < drawn.columns; ++c) {
          const double x = operands.x.at(row, c);
          Bounded expected = activated(activation, Bounded{x, 0});
          // What an exponential's argument loses is relative to its size.
          expected.error += 1.2e-7 * x * x * std::fabs(expected.value);
          if (is_gradient) {
            // A slope is a sum of two that may cancel.
            const double grad = operands.grad.at(row, c);
            expected = {grad * slope(activation, x), 2e-6 * std::fabs(grad) + 1e-30};
          }
          expected = stored(drawn.out, expected);
          ASSERT_NEAR(operands.out.at(row, c), expected.value, expected.error)
              << "activation " << activation << " of " << x;
        }
      }
    }
  }
}

TEST_P(XcpuPlain, softmax_and_its_gradient_are_within_rounding_of_float64) {
  for (unsigned repeat = 0; repeat < (is_full_sweep() ? 400 : 40); ++repeat) {
    Random random(repeat);
    const Drawn drawn = Drawn::draw(random, repeat % 8 == 0);
    Operands3 operands(random, drawn, 2);
    const bool is_logarithm = repeat % 2 == 1;
    const bool is_gradient = repeat % 4 < 2;
    if (is_gradient) {
      for (std::int64_t row = 0; row < drawn.rows; ++row) {
        for (std::int64_t c = 0; c < drawn.columns; ++c) {
          operands.x.set(
              row, c,
              is_logarithm ? -std::fabs(operands.x.at(row, c)) - 1 : 1 / static_cast<double>(drawn.columns));
        }
      }
    }
    const xcpu_softmax_args args{is_logarithm ? 1 : 0,
                                 drawn.rows,
                                 drawn.columns,
                                 operands.x.get(),
                                 if_given(is_gradient, operands.grad.get()),
                                 operands.out.get()};
    Team team(drawn.team);
    ASSERT_STREQ(xcpu_softmax(&args, team.get()), nullptr);
    operands.out.expect_nothing_else_written();
    for (std::int64_t row = 0; row < drawn.rows; ++row) {
      double top = -INFINITY;
      for (std::int64_t c = 0; c < drawn.columns; ++c) top = std::max(top, operands.x.at(row, c));
      double total = 0;
      double size = 0;
      double exponentials = 0;
      for (std::int64_t c = 0; c < drawn.columns; ++c) {
        const double term = operands.grad.at(row, c) * (is_logarithm ? 1 : operands.x.at(row, c));
        total += term;
        size += std::fabs(term);
        exponentials += std::exp(operands.x.at(row, c) - top);
      }
      for (std::int64_t c = 0; c < drawn.columns; ++c) {
        const double x = operands.x.at(row, c);
        const double grad = operands.grad.at(row, c);
        Bounded expected{0, 0};
        if (!is_gradient) {
          const double value = std::exp(x - top) / exponentials;
          expected = is_logarithm
                         ? Bounded{x - top - std::log(exponentials), 1e-6 * (std::fabs(x - top) + 10)}
                         : Bounded{value, 5e-6 * value + 1e-38};
        } else if (is_logarithm) {
          expected = {grad - std::exp(x) * total, 4e-6 * (std::fabs(grad) + std::exp(x) * size)};
        } else {
          expected = {(grad - total) * x, 4e-6 * (std::fabs(grad) + size) * std::fabs(x)};
        }
        expected = stored(drawn.out, expected);
        ASSERT_NEAR(operands.out.at(row, c), expected.value, expected.error)
            << "row " << row << " column " << c << " gradient " << is_gradient;
      }
    }
  }
}

TEST_P(XcpuPlain, embedding_bags_are_within_rounding_of_float64) {
  for (unsigned repeat = 0; repeat < (is_full_sweep() ? 600 : 60); ++repeat) {
    Random random(repeat);
    const bool is_large = repeat % 10 == 0;
    const std::int64_t bags = choose(random, 1, is_large ? 60 : 6);
    const std::int64_t columns = choose(random, 1, 300);
    const std::int64_t table_rows = choose(random, 1, 50);
    const bool is_mean = choose(random, 0, 1) == 1;
    const bool has_weights = !is_mean && choose(random, 0, 1) == 1;
    const std::int64_t padding = choose(random, 0, 2) == 0 ? choose(random, 0, table_rows - 1) : -1;
    const xcpu_dtype dtype = one_of(random, kDtypes);
    const xcpu_dtype out_dtype = choose(random, 0, 1) == 0 ? dtype : XCPU_F32;
    const Rows table(random, table_rows, columns, columns + repeat % 3, dtype);
    std::vector<std::int64_t> starts = {0};
    std::vector<std::int64_t> indices;
    std::vector<float> weights;
    for (std::int64_t bag = 0; bag < bags; ++bag) {
      for (std::int64_t i = choose(random, 0, 30); i > 0; --i) {
        indices.push_back(choose(random, 0, table_rows - 1));
        weights.push_back(static_cast<float>(choose(random, -8, 8)) / 4);
      }
      starts.push_back(static_cast<std::int64_t>(indices.size()));
    }
    Result out(bags, columns, columns + 2, out_dtype);
    xcpu_bag_args args{};
    args.mean = is_mean ? 1 : 0;
    args.bags = bags;
    args.columns = columns;
    args.table_rows = table_rows;
    args.table = table.get();
    args.indices = indices.data();
    args.starts = starts.data();
    args.weights = has_weights ? weights.data() : nullptr;
    args.padding = padding;
    args.out = out.get();
    Team team(static_cast<int>(choose(random, 1, 3)));
    ASSERT_STREQ(xcpu_embedding_bag(&args, team.get()), nullptr);
    out.expect_nothing_else_written();
    for (std::int64_t bag = 0; bag < bags; ++bag) {
      for (std::int64_t c = 0; c < columns; ++c) {
        double total = 0;
        double size = 0;
        double counted = 0;
        for (std::int64_t i = starts[static_cast<std::size_t>(bag)];
             i < starts[static_cast<std::size_t>(bag) + 1]; ++i) {
          const auto at = static_cast<std::size_t>(i);
          if (indices[at] == padding) continue;
          const double term = table.at(indices[at], c) * (has_weights ? weights[at] : 1);
          total += term;
          size += std::fabs(term);
          ++counted;
        }
        const double factor = is_mean && counted > 0 ? 1 / counted : 1;
        const Bounded expected = stored(out_dtype, {total * factor, 2e-6 * size * factor});
        ASSERT_NEAR(out.at(bag, c), expected.value, expected.error) << "bag " << bag << " column " << c;
      }
    }
  }
}

TEST(XcpuPlainArguments, are_refused_by_name) {
  float data[8] = {};
  const std::int64_t starts[] = {0, 2};
  const std::int64_t indices[] = {1, 3};
  xcpu_bag_args bag{};
  bag.bags = 1;
  bag.columns = 2;
  bag.table_rows = 3;
  bag.padding = -1;
  bag.table = bag.out = {data, XCPU_F32, 2};
  bag.starts = starts;
  bag.indices = indices;
  EXPECT_STREQ(xcpu_embedding_bag(&bag, nullptr), "indices[1] is 3; the table has 3 rows");
  bag.mean = 1;
  bag.weights = data;
  EXPECT_STREQ(xcpu_embedding_bag(&bag, nullptr), "weights are given with mean; only a sum has weights");
  xcpu_softmax_args softmax{};
  softmax.rows = 1;
  EXPECT_NE(xcpu_softmax(&softmax, nullptr), nullptr);
  softmax.columns = 2;
  EXPECT_STREQ(xcpu_softmax(&softmax, nullptr), "x.data is NULL");
  xcpu_activation_args activation{};
  activation.activation = 9;
  EXPECT_STREQ(xcpu_activate(&activation, nullptr), "activation is 9; it is 0 to 4");
}

}  // namespace
}  // namespace xcpu_test
