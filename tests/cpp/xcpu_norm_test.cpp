// RMS norm and layer norm, and their gradients, against float64.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "xcpu_heads.h"

namespace xcpu_test {
namespace {

const std::vector<xcpu_dtype> kDtypes = {XCPU_F32, XCPU_BF16, XCPU_F16};

struct Operand {
  bool is_given;
  xcpu_dtype dtype;
};

struct NormCase {
  xcpu_norm_form form;
  std::int64_t rows, columns, gap;
  int team;
  xcpu_dtype x, out;
  Operand residual, weight, bias, sum;

  static NormCase draw(Random& random, xcpu_norm_form form, std::int64_t rows, std::int64_t columns) {
    NormCase drawn{};
    drawn.form = form;
    drawn.rows = rows;
    drawn.columns = columns;
    drawn.gap = choose(random, 0, 5);
    drawn.team = static_cast<int>(choose(random, 1, 3));
    const bool is_one_dtype = choose(random, 0, 1) == 0;
    drawn.x = one_of(random, kDtypes);
    drawn.out = is_one_dtype ? drawn.x : one_of(random, kDtypes);
    for (Operand* operand : {&drawn.residual, &drawn.weight, &drawn.bias, &drawn.sum}) {
      *operand = {choose(random, 0, 3) != 0, is_one_dtype ? drawn.x : one_of(random, kDtypes)};
    }
    return drawn;
  }

  std::string text() const {
    return "form " + std::to_string(form) + " rows " + std::to_string(rows) + " columns " +
           std::to_string(columns) + " gap " + std::to_string(gap) + " team " + std::to_string(team) + " x " +
           std::to_string(x) + " out " + std::to_string(out) + " residual, weight, bias, sum " +
           std::to_string(residual.is_given) + std::to_string(weight.is_given) +
           std::to_string(bias.is_given) + std::to_string(sum.is_given);
  }
};

struct Moments {
  double mean, scale;
};

constexpr double kEpsilon = 1e-5F;

template <class At>
Moments moments_of(xcpu_norm_form form, std::int64_t columns, At at) {
  double mean = 0;
  const auto count = static_cast<double>(columns);
  if (form == XCPU_LAYER_NORM) {
    for (std::int64_t c = 0; c < columns; ++c) mean += at(c) / count;
  }
  double squares = 0;
  for (std::int64_t c = 0; c < columns; ++c) squares += (at(c) - mean) * (at(c) - mean);
  return {mean, 1 / std::sqrt(squares / count + kEpsilon)};
}

double weight_of(const NormCase& drawn, const Rows& weight, std::int64_t column) {
  if (!drawn.weight.is_given) return 1;
  return weight.at(0, column) + (drawn.form == XCPU_RMS_NORM_PLUS_ONE ? 1 : 0);
}

struct NormOperands {
  Rows x, residual, weight, bias;

  NormOperands(Random& random, const NormCase& drawn)
      : x(random, drawn.rows, drawn.columns, drawn.columns + drawn.gap, drawn.x),
        residual(random, drawn.rows, drawn.columns, drawn.columns + 2 * drawn.gap, drawn.residual.dtype),
        weight(random, 1, drawn.columns, drawn.columns, drawn.weight.dtype),
        bias(random, 1, drawn.columns, drawn.columns, drawn.bias.dtype) {}

  xcpu_norm_args args(const NormCase& drawn) const {
    xcpu_norm_args made{};
    made.form = drawn.form;
    made.epsilon = static_cast<float>(kEpsilon);
    made.rows = drawn.rows;
    made.columns = drawn.columns;
    made.x = x.get();
    made.residual = if_given(drawn.residual.is_given, residual.get());
    made.weight = if_given(drawn.weight.is_given, weight.get());
    made.bias = if_given(drawn.bias.is_given, bias.get());
    return made;
  }
};

void expect_right(const NormCase& drawn) {
  SCOPED_TRACE(drawn.text());
  Random random(static_cast<unsigned>(drawn.rows * 1000 + drawn.columns));
  const NormOperands operands(random, drawn);
  Result out(drawn.rows, drawn.columns, drawn.columns + drawn.gap, drawn.out);
  Result sum(drawn.rows, drawn.columns, drawn.columns + drawn.gap, drawn.sum.dtype);
  std::vector<float> means(static_cast<std::size_t>(drawn.rows));
  std::vector<float> scales(static_cast<std::size_t>(drawn.rows));
  xcpu_norm_args args = operands.args(drawn);
  args.out = out.get();
  args.sum = if_given(drawn.sum.is_given, sum.get());
  args.mean = means.data();
  args.scale = scales.data();
  Team team(drawn.team);
  ASSERT_STREQ(xcpu_norm(&args, team.get()), nullptr);
  out.expect_nothing_else_written();
  sum.expect_nothing_else_written();
  for (std::int64_t row = 0; row < drawn.rows; ++row) {
    const auto plain = [&](std::int64_t c) {
      return operands.x.at(row, c) + (drawn.residual.is_given ? operands.residual.at(row, c) : 0);
    };
    for (std::int64_t c = 0; drawn.sum.is_given && c < drawn.columns; ++c) {
      const Bounded expected = stored(drawn.sum.dtype, {plain(c), 1e-7 * std::fabs(plain(c))});
      ASSERT_NEAR(sum.at(row, c), expected.value, expected.error) << "sum " << row << " " << c;
    }
    const auto source = [&](std::int64_t c) { return drawn.sum.is_given ? sum.at(row, c) : plain(c); };
    const Moments moments = moments_of(drawn.form, drawn.columns, source);
    ASSERT_NEAR(means[static_cast<std::size_t>(row)], moments.mean, 1e-5);
    ASSERT_NEAR(scales[static_cast<std::size_t>(row)], moments.scale, 1e-5 * moments.scale);
    for (std::int64_t c = 0; c < drawn.columns; ++c) {
      const double factor = moments.scale * weight_of(drawn, operands.weight, c);
      const double bias = drawn.bias.is_given ? operands.bias.at(0, c) : 0;
      const double size = (std::fabs(source(c)) + std::fabs(moments.mean)) * std::fabs(factor);
      const Bounded expected = stored(
          drawn.out, {(source(c) - moments.mean) * factor + bias, 4e-6 * size + 1e-7 * std::fabs(bias)});
      ASSERT_NEAR(out.at(row, c), expected.value, expected.error) << "row " << row << " column " << c;
    }
  }
}

const std::vector<xcpu_norm_form> kForms3 = {XCPU_RMS_NORM, XCPU_RMS_NORM_PLUS_ONE, XCPU_LAYER_NORM};

class XcpuNorm : public OfEachIsa {};
INSTANTIATE_TEST_SUITE_P(All, XcpuNorm, testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

TEST_P(XcpuNorm, is_within_rounding_of_float64_for_any_number_of_columns) {
  for (const xcpu_norm_form form : kForms3) {
    for (std::int64_t columns = 1; columns < 150; columns += is_full_sweep() ? 1 : 2) {
      for (unsigned repeat = 0; repeat < (is_full_sweep() ? 20 : 2); ++repeat) {
        Random random(static_cast<unsigned>(columns) * 31 + repeat);
        expect_right(NormCase::draw(random, form, choose(random, 1, 4), columns));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(XcpuNorm, has_many_columns_and_rows) {
  for (const xcpu_norm_form form : kForms3) {
    for (const int team : {1, 2, 3}) {
      for (const xcpu_dtype dtype : kDtypes) {
        Random random(static_cast<unsigned>(team));
        NormCase drawn = NormCase::draw(random, form, 17, 1999);
        drawn.team = team;
        drawn.x = drawn.out = drawn.residual.dtype = drawn.weight.dtype = drawn.bias.dtype = dtype;
        drawn.sum = {true, dtype};
        expect_right(drawn);
      }
    }
  }
}

// The residual's memory takes the sum, and x's the result.
TEST_P(XcpuNorm, writes_over_what_it_reads) {
  for (const xcpu_norm_form form : kForms3) {
    Random random(5);
    NormCase drawn = NormCase::draw(random, form, 5, 77);
    drawn.x = drawn.out = XCPU_BF16;
    drawn.residual = drawn.sum = {true, XCPU_F32};
    Random again = random;
    const NormOperands apart(random, drawn);
    const NormOperands together(again, drawn);
    const Rows out(random, drawn.rows, drawn.columns, drawn.columns, XCPU_BF16);
    const Rows sum(random, drawn.rows, drawn.columns, drawn.columns, XCPU_F32);
    xcpu_norm_args args = apart.args(drawn);
    args.out = out.get();
    args.sum = sum.get();
    ASSERT_STREQ(xcpu_norm(&args, nullptr), nullptr);
    args = together.args(drawn);
    args.out = args.x;
    args.sum = args.residual;
    ASSERT_STREQ(xcpu_norm(&args, nullptr), nullptr);
    for (std::int64_t row = 0; row < drawn.rows; ++row) {
      for (std::int64_t c = 0; c < drawn.columns; ++c) {
        ASSERT_EQ(together.x.at(row, c), out.at(row, c));
        ASSERT_EQ(together.residual.at(row, c), sum.at(row, c));
      }
    }
  }
}

struct BackwardCase {
  NormCase norm;
  bool has_grad_sum, has_statistics, has_grad_x, has_grad_weight;
  xcpu_dtype results;
};

void expect_right_gradients(const BackwardCase& drawn, Random& random) {
  const NormCase& norm = drawn.norm;
  SCOPED_TRACE(norm.text());
  const NormOperands operands(random, norm);
  const Rows grad(random, norm.rows, norm.columns, norm.columns + norm.gap, norm.x);
  const Rows grad_sum(random, norm.rows, norm.columns, norm.columns, norm.x);
  Result grad_x(norm.rows, norm.columns, norm.columns + norm.gap, drawn.results);
  Result grad_weight(1, norm.columns, norm.columns, drawn.results);
  Result grad_bias(1, norm.columns, norm.columns, drawn.results);
  std::vector<Moments> moments;
  std::vector<float> means;
  std::vector<float> scales;
  for (std::int64_t row = 0; row < norm.rows; ++row) {
    moments.push_back(
        moments_of(norm.form, norm.columns, [&](std::int64_t c) { return operands.x.at(row, c); }));
    means.push_back(static_cast<float>(moments.back().mean));
    scales.push_back(static_cast<float>(moments.back().scale));
  }
  xcpu_norm_backward_args args{};
  args.form = norm.form;
  args.epsilon = static_cast<float>(kEpsilon);
  args.rows = norm.rows;
  args.columns = norm.columns;
  args.grad = grad.get();
  args.grad_sum = if_given(drawn.has_grad_sum, grad_sum.get());
  args.x = operands.x.get();
  args.weight = if_given(norm.weight.is_given, operands.weight.get());
  args.mean = drawn.has_statistics ? means.data() : nullptr;
  args.scale = drawn.has_statistics ? scales.data() : nullptr;
  args.grad_x = if_given(drawn.has_grad_x, grad_x.get());
  args.grad_weight = if_given(drawn.has_grad_weight, grad_weight.get());
  args.grad_bias = if_given(drawn.has_grad_weight, grad_bias.get());
  const Scratch scratch(xcpu_norm_backward_scratch(&args));
  Team team(norm.team);
  ASSERT_STREQ(xcpu_norm_backward(&args, scratch.data(), team.get()), nullptr);
  grad_x.expect_nothing_else_written();
  grad_weight.expect_nothing_else_written();
  grad_bias.expect_nothing_else_written();

  const auto columns = static_cast<double>(norm.columns);
  std::vector<Bounded> weights(static_cast<std::size_t>(norm.columns), {0, 0});
  std::vector<Bounded> biases(static_cast<std::size_t>(norm.columns), {0, 0});
  for (std::int64_t row = 0; row < norm.rows; ++row) {
    const auto [mean, scale] = moments[static_cast<std::size_t>(row)];
    const auto normal = [&, mean = mean, scale = scale](std::int64_t c) {
      return (operands.x.at(row, c) - mean) * scale;
    };
    const auto weighted = [&](std::int64_t c) {
      return grad.at(row, c) * weight_of(norm, operands.weight, c);
    };
    Bounded plain{0, 0};
    Bounded along{0, 0};
    for (std::int64_t c = 0; c < norm.columns; ++c) {
      plain.value += weighted(c) / columns;
      plain.error += std::fabs(weighted(c)) / columns;
      along.value += weighted(c) * normal(c) / columns;
      along.error += std::fabs(weighted(c)) * (std::fabs(normal(c)) + std::fabs(mean) * scale) / columns;
      const auto i = static_cast<std::size_t>(c);
      weights[i].value += grad.at(row, c) * normal(c);
      weights[i].error += std::fabs(grad.at(row, c)) * (std::fabs(normal(c)) + std::fabs(mean) * scale);
      biases[i].value += grad.at(row, c);
      biases[i].error += std::fabs(grad.at(row, c));
    }
    if (norm.form != XCPU_LAYER_NORM) plain = {0, 0};
    for (std::int64_t c = 0; drawn.has_grad_x && c < norm.columns; ++c) {
      const double more = drawn.has_grad_sum ? grad_sum.at(row, c) : 0;
      const double value = scale * (weighted(c) - plain.value - normal(c) * along.value) + more;
      const double size = scale * (std::fabs(weighted(c)) + plain.error +
                                   (std::fabs(normal(c)) + std::fabs(mean) * scale) * along.error) +
                          std::fabs(more);
      const Bounded expected = stored(drawn.results, {value, 4e-6 * size});
      ASSERT_NEAR(grad_x.at(row, c), expected.value, expected.error) << "row " << row << " column " << c;
    }
  }
  for (std::int64_t c = 0; drawn.has_grad_weight && c < norm.columns; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const Bounded weight = stored(drawn.results, {weights[i].value, 4e-6 * weights[i].error});
    const Bounded bias = stored(drawn.results, {biases[i].value, 4e-6 * biases[i].error});
    ASSERT_NEAR(grad_weight.at(0, c), weight.value, weight.error) << "weight " << c;
    ASSERT_NEAR(grad_bias.at(0, c), bias.value, bias.error) << "bias " << c;
  }
}

TEST_P(XcpuNorm, has_gradients_within_rounding_of_float64) {
  for (const xcpu_norm_form form : kForms3) {
    for (unsigned repeat = 0; repeat < (is_full_sweep() ? 400 : 40); ++repeat) {
      Random random(repeat);
      const bool is_large = repeat % 8 == 0;
      BackwardCase drawn{};
      drawn.norm = NormCase::draw(random, form, choose(random, 1, is_large ? 200 : 6),
                                  choose(random, is_large ? 100 : 1, is_large ? 300 : 90));
      drawn.has_grad_sum = choose(random, 0, 1) == 1;
      drawn.has_statistics = choose(random, 0, 1) == 1;
      drawn.has_grad_x = choose(random, 0, 3) != 0;
      drawn.has_grad_weight = choose(random, 0, 3) != 0;
      drawn.results = choose(random, 0, 1) == 0 ? drawn.norm.x : one_of(random, kDtypes);
      expect_right_gradients(drawn, random);
      if (HasFailure()) return;
    }
  }
}

TEST_P(XcpuNorm, lets_be_seen_what_is_not_a_number) {
  Random random(1);
  Rows x(random, 2, 40, 40, XCPU_BF16);
  x.set(1, 33, NAN);
  const Rows out(random, 2, 40, 40, XCPU_BF16);
  xcpu_norm_args args{};
  args.rows = 2;
  args.columns = 40;
  args.x = x.get();
  args.out = out.get();
  ASSERT_STREQ(xcpu_norm(&args, nullptr), nullptr);
  for (std::int64_t c = 0; c < 40; ++c) {
    EXPECT_TRUE(std::isfinite(out.at(0, c)));
    EXPECT_TRUE(std::isnan(out.at(1, c)));
  }
}

TEST(XcpuNormArguments, are_refused_by_name) {
  float data[8] = {};
  xcpu_norm_args args{};
  args.rows = 2;
  args.columns = 4;
  EXPECT_STREQ(xcpu_norm(&args, nullptr), "x.data is NULL");
  args.x = {data, XCPU_F32, 3};
  EXPECT_STREQ(xcpu_norm(&args, nullptr), "x.stride is 3, less than the 4 elements of a row");
  args.x = {data, static_cast<xcpu_dtype>(7), 4};
  EXPECT_STREQ(xcpu_norm(&args, nullptr), "x.dtype is 7; dtypes are 0 to 2");
  args.x = {data, XCPU_F32, 4};
  EXPECT_STREQ(xcpu_norm(&args, nullptr), "out.data is NULL");
  args.form = static_cast<xcpu_norm_form>(3);
  EXPECT_STREQ(xcpu_norm(&args, nullptr), "form is 3; it is 0 to 2");
}

}  // namespace
}  // namespace xcpu_test
