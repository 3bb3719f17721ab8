// The largest outputs of a linear, against sorting all of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "xcpu_heads.h"

namespace xcpu_test {
namespace {

struct TopCase {
  Form form;
  std::int64_t rows, x_rows, n, inputs;
  int k, team, threads;
  bool has_bias, has_take, has_out;
};

std::vector<std::int64_t> order_of(const std::vector<double>& values) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  return order;
}

// To the bit: linear gives the outputs, of which the test sorts all.
void expect_right(const TopCase& drawn, Random& random) {
  SCOPED_TRACE(drawn.form.name + " rows " + std::to_string(drawn.rows) + " n " + std::to_string(drawn.n) +
               " k " + std::to_string(drawn.k) + " team " + std::to_string(drawn.team));
  const Rows x(random, drawn.x_rows, drawn.inputs, drawn.inputs + 3, XCPU_BF16);
  const Rows bias(random, 1, drawn.n, drawn.n, XCPU_BF16);
  const PackedWeight weight(random, drawn.form, drawn.n, drawn.inputs, 0);
  const Rows all(random, drawn.x_rows, drawn.n, drawn.n, XCPU_F32);
  xcpu_linear_args linear{};
  linear.rows = drawn.x_rows;
  linear.x = x.get();
  linear.weight = weight.packed;
  linear.precision = drawn.form.precision;
  linear.bias = if_given(drawn.has_bias, bias.get());
  linear.out = all.get();
  std::vector<std::int64_t> take;
  for (std::int64_t row = 0; row < drawn.rows; ++row) {
    take.push_back(drawn.has_take ? choose(random, 0, drawn.x_rows - 1) : row);
  }

  Result out(drawn.rows, drawn.n, drawn.n + 5, XCPU_F32);
  std::vector<float> values(static_cast<std::size_t>(drawn.rows * drawn.k + 1), 77.0F);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(drawn.rows * drawn.k + 1), 77);
  xcpu_top_args args{};
  args.linear = linear;
  args.linear.rows = drawn.rows;
  args.linear.out = if_given(drawn.has_out, out.get());
  args.x_rows = drawn.x_rows;
  args.take = drawn.has_take ? take.data() : nullptr;
  args.k = drawn.k;
  args.threads = drawn.threads;
  args.values = values.data();
  args.indices = indices.data();
  Team team(drawn.team);
  const Scratch scratch(xcpu_top_scratch(&args));
  ASSERT_STREQ(xcpu_top(&args, scratch.data(), team.get()), nullptr);
  out.expect_nothing_else_written();
  ASSERT_EQ(values.back(), 77.0F);
  ASSERT_EQ(indices.back(), 77);
  for (std::int64_t row = 0; row < drawn.rows; ++row) {
    // Each taken row by itself, as many as the call had, so that sums have the same order.
    std::vector<double> outputs;
    if (drawn.has_out) {
      for (std::int64_t n = 0; n < drawn.n; ++n) outputs.push_back(out.at(row, n));
    } else {
      const Scratch more(xcpu_linear_scratch(&linear));
      ASSERT_STREQ(xcpu_linear(&linear, more.data(), nullptr), nullptr);
      for (std::int64_t n = 0; n < drawn.n; ++n)
        outputs.push_back(all.at(take[static_cast<std::size_t>(row)], n));
    }
    const std::vector<std::int64_t> order = order_of(outputs);
    for (int i = 0; i < drawn.k; ++i) {
      const auto entry = static_cast<std::size_t>(row * drawn.k + i);
      const double expected = outputs[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
      ASSERT_NEAR(values[entry], expected, drawn.has_out ? 0 : 1e-5 * (1 + std::fabs(expected)));
      ASSERT_GE(indices[entry], 0);
      ASSERT_LT(indices[entry], drawn.n);
      if (drawn.has_out) {
        ASSERT_EQ(indices[entry], order[static_cast<std::size_t>(i)]) << i;
      }
    }
  }
}

class XcpuTop : public OfEachIsa {};
INSTANTIATE_TEST_SUITE_P(All, XcpuTop, testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

TEST_P(XcpuTop, finds_the_largest_outputs) {
  for (const Form& form : kForms) {
    for (unsigned repeat = 0; repeat < (is_full_sweep() ? 60 : 6); ++repeat) {
      Random random(repeat);
      TopCase drawn{};
      drawn.form = form;
      drawn.x_rows = choose(random, 1, 20);
      drawn.has_take = choose(random, 0, 1) == 1;
      drawn.rows = drawn.has_take ? choose(random, 1, 6) : choose(random, 1, drawn.x_rows);
      drawn.n = choose(random, 1, 1500);
      drawn.inputs = form.group != 0 ? form.group : choose(random, 1, 70);
      drawn.k = static_cast<int>(choose(random, 1, std::min<std::int64_t>(drawn.n, 40)));
      drawn.team = static_cast<int>(choose(random, 1, 3));
      drawn.threads = static_cast<int>(choose(random, 1, 3));
      drawn.has_bias = choose(random, 0, 1) == 1;
      drawn.has_out = choose(random, 0, 2) != 0;
      expect_right(drawn, random);
      if (HasFailure()) return;
    }
  }
}

TEST_P(XcpuTop, has_the_first_of_equal_ones_first_and_no_number_before_all) {
  Random random(1);
  Product product(random, kForms[0], 1, 300, 8);
  std::vector<float> bias(300, 1.0F);
  bias[7] = bias[250] = 3;
  bias[40] = -INFINITY;
  bias[290] = NAN;
  std::vector<float> zero(8);
  product.args.x.data = zero.data();
  product.args.bias = {bias.data(), XCPU_F32, 300};
  std::vector<float> values(4);
  std::vector<std::int64_t> indices(4);
  xcpu_top_args args{};
  args.linear = product.args;
  args.linear.out.data = nullptr;
  args.k = 4;
  args.threads = 2;
  args.values = values.data();
  args.indices = indices.data();
  Team team(2);
  const Scratch scratch(xcpu_top_scratch(&args));
  ASSERT_STREQ(xcpu_top(&args, scratch.data(), team.get()), nullptr);
  EXPECT_EQ(indices, (std::vector<std::int64_t>{290, 7, 250, 0}));
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[3], 1);
}

TEST(XcpuTopArguments, are_refused_by_name) {
  Random random(1);
  const Product product(random, kForms[0], 2, 9, 8);
  const std::int64_t take[] = {0, 2};
  xcpu_top_args args{};
  args.linear = product.args;
  args.k = 10;
  args.threads = 1;
  EXPECT_STREQ(xcpu_top(&args, nullptr, nullptr), "k is 10; it is 1 to 9");
  args.k = 3;
  EXPECT_STREQ(xcpu_top(&args, nullptr, nullptr), "values is NULL");
  float values[6];
  std::int64_t indices[6];
  args.values = values;
  args.indices = indices;
  args.take = take;
  args.x_rows = 2;
  EXPECT_STREQ(xcpu_top(&args, nullptr, nullptr), "take[1] is 2; linear.x has 2 rows");
}

}  // namespace
}  // namespace xcpu_test
