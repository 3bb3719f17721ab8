// Linear with packed weights against float64, of every form, instruction set, number of rows and kind of
// operand.
//
// The reference multiplies the inputs that the kernel multiplies, rounded or quantised by arithmetic of its
// own, with the weights that unpacking gives. What a sum in fp32 may lose is known from the sizes of its
// terms.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "xcpu_linear.h"

namespace xcpu_test {
namespace {

class XcpuLinear : public testing::TestWithParam<std::tuple<std::string, Form>> {
 protected:
  void SetUp() override { ASSERT_EQ(xcpu_use_isa(isa().c_str()), nullptr); }
  void TearDown() override { xcpu_use_isa(nullptr); }

  std::string isa() const { return std::get<0>(GetParam()); }
  Form form() const { return std::get<1>(GetParam()); }
};

constexpr int kActivations = 5;

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const char* const* name = xcpu_isas(); *name != nullptr; ++name) names.emplace_back(*name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, XcpuLinear,
                         testing::Combine(testing::ValuesIn(instruction_sets()), testing::ValuesIn(kForms)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
                         });

// The cases of a form: each number of rows with some activations, in the full sweep with each; the rest of a
// case, sizes included, is drawn. So the full sweep has every two choices of operands and their dtypes,
// activation, pair and team in one case (the next test), and its other tests every number of outputs and of
// inputs.
std::vector<LinearCase> cases_of(const Form& form, bool is_full) {
  std::vector<LinearCase> cases;
  for (std::int64_t rows = 1; rows <= (is_full ? 64 : 30); ++rows) {
    for (int i = 0; i < (is_full ? kActivations : 2); ++i) {
      Random random(static_cast<unsigned>(rows * 1000 + i));
      cases.push_back(LinearCase::draw(random, form, rows));
      cases.back().activation = static_cast<xcpu_activation>((rows + i) % kActivations);
    }
  }
  return cases;
}

TEST_P(XcpuLinear, is_within_rounding_of_float64_for_every_number_of_rows) {
  for (const LinearCase& drawn : cases_of(form(), is_full_sweep())) {
    expect_right(drawn);
    if (HasFailure()) return;
  }
}

TEST(XcpuLinearSweep, has_every_two_choices_in_one_case) {
  // By how many there are of each; an operand may be absent.
  const std::vector<int> counts = {3, 4, 4, 4, 3, kActivations, 2, 3};
  for (const Form& form : kForms) {
    std::set<std::tuple<std::size_t, int, std::size_t, int>> met;
    for (const LinearCase& drawn : cases_of(form, true)) {
      const auto given = [](bool is_there, xcpu_dtype dtype) { return is_there ? int{dtype} : 3; };
      const std::vector<int> choices = {drawn.x,
                                        given(drawn.has_bias, drawn.bias),
                                        given(drawn.has_mul, drawn.mul),
                                        given(drawn.has_residual, drawn.residual),
                                        drawn.out,
                                        drawn.activation,
                                        drawn.pair,
                                        drawn.team - 1};
      for (std::size_t a = 0; a < choices.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) met.insert({a, choices[a], b, choices[b]});
      }
    }
    std::size_t all = 0;
    for (std::size_t a = 0; a < counts.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) all += static_cast<std::size_t>(counts[a] * counts[b]);
    }
    EXPECT_EQ(met.size(), all) << form.name;
  }
}

TEST_P(XcpuLinear, has_every_activation_with_every_operand) {
  for (const xcpu_activation activation : {XCPU_IDENTITY, XCPU_RELU, XCPU_GELU, XCPU_GELU_TANH, XCPU_SILU}) {
    for (int operands = 0; operands < 8; ++operands) {
      for (const int pair : {0, 1}) {
        Random random(static_cast<unsigned>(operands));
        LinearCase drawn = LinearCase::draw(random, form(), 3);
        drawn.activation = activation;
        drawn.pair = pair;
        drawn.has_bias = (operands & 1) != 0;
        drawn.has_mul = (operands & 2) != 0;
        drawn.has_residual = (operands & 4) != 0;
        expect_right(drawn);
      }
    }
  }
}

// The last panel is narrower, and so are the last vectors.
TEST_P(XcpuLinear, has_any_number_of_outputs) {
  for (std::int64_t n = 1; n <= 70; n += is_full_sweep() ? 1 : 3) {
    for (const int pair : {0, 1}) {
      Random random(static_cast<unsigned>(n));
      LinearCase drawn = LinearCase::draw(random, form(), 2);
      drawn.n = n;
      drawn.pair = pair;
      expect_right(drawn);
    }
  }
}

TEST_P(XcpuLinear, has_any_number_of_inputs) {
  for (std::int64_t k = 1; k <= 140; k += is_full_sweep() ? 1 : 3) {
    Random random(static_cast<unsigned>(k));
    LinearCase drawn = LinearCase::draw(random, form(), 1 + k % 3);
    drawn.k = form().group != 0 ? k % 9 * form().group + form().group : k;
    expect_right(drawn);
  }
}

// Several blocks of rows meet a panel in stretches of its inputs, whose sums are kept in between.
TEST_P(XcpuLinear, has_many_inputs) {
  Random random(1);
  LinearCase drawn = LinearCase::draw(random, form(), 15);
  drawn.n = 40;
  drawn.k = 8192;
  expect_right(drawn);
}

// More panels than stay in a cache are computed in turns.
TEST_P(XcpuLinear, has_many_rows_and_outputs) {
  Random random(2);
  LinearCase drawn = LinearCase::draw(random, form(), 16);
  drawn.n = 300;
  drawn.k = 2048;
  drawn.team = 3;
  expect_right(drawn);
}

// Against the product of the matrices before they were rounded.
TEST_P(XcpuLinear, loses_as_little_as_its_form_allows) {
  Random random(3);
  const Product product(random, form(), 8, 64, 1024);
  double lost = 0;
  double all = 0;
  for (std::int64_t m = 0; m < 8; ++m) {
    for (std::int64_t n = 0; n < 64; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < 1024; ++k) sum += product.x.at(m, k) * product.source.at(n, k);
      lost += std::pow(product.out.at(m, n) - sum, 2);
      all += sum * sum;
    }
  }
  EXPECT_LT(std::sqrt(lost / all), form().expected_loss);
}

TEST_P(XcpuLinear, gives_the_same_for_every_team) {
  for (const std::int64_t rows : {1, 4, 40}) {
    std::vector<double> alone;
    for (const int size : {1, 2, 3}) {
      Team team(size);
      Random random(4);
      const Product product(random, form(), rows, 100, 256, team.get());
      std::vector<double> all;
      for (std::int64_t m = 0; m < rows; ++m) {
        for (std::int64_t n = 0; n < 100; ++n) all.push_back(product.out.at(m, n));
      }
      if (size == 1) alone = all;
      EXPECT_EQ(all, alone);
    }
  }
}

TEST_P(XcpuLinear, a_row_that_is_not_finite_stays_in_its_row) {
  for (const double bad : {double{INFINITY}, std::numeric_limits<double>::quiet_NaN()}) {
    Random random(5);
    Product product(random, form(), 3, 40, 256);
    product.x.set(1, 100, bad);
    product.run(nullptr);
    for (std::int64_t n = 0; n < 40; ++n) {
      EXPECT_TRUE(std::isfinite(product.out.at(0, n)));
      EXPECT_FALSE(std::isfinite(product.out.at(1, n)));
      EXPECT_TRUE(std::isfinite(product.out.at(2, n)));
    }
  }
}

TEST_P(XcpuLinear, of_zeros_gives_zeros) {
  Random random(6);
  Product product(random, form(), 2, 40, 256);
  for (std::int64_t k = 0; k < 256; ++k) product.x.set(0, k, 0);
  product.run(nullptr);
  for (std::int64_t n = 0; n < 40; ++n) EXPECT_EQ(product.out.at(0, n), 0);
}

TEST_P(XcpuLinear, may_write_over_its_residual) {
  Random random(7);
  const Product once(random, form(), 4, 50, 256);
  Random again(7);
  Product twice(again, form(), 4, 50, 256);
  twice.args.residual = twice.args.out;
  twice.run(nullptr);
  for (std::int64_t m = 0; m < 4; ++m) {
    for (std::int64_t n = 0; n < 50; ++n) EXPECT_FLOAT_EQ(twice.out.at(m, n), 2 * once.out.at(m, n));
  }
}

TEST_P(XcpuLinear, of_no_rows_does_nothing) {
  Random random(8);
  Product product(random, form(), 1, 20, 128);
  product.args.rows = 0;
  product.out.set(0, 3, 42);
  product.run(nullptr);
  EXPECT_EQ(product.out.at(0, 3), 42);
}

// One input and a weight of one: what is left is the activation.
TEST(XcpuActivation, is_within_a_few_units_of_the_last_place_everywhere) {
  std::vector<double> inputs;
  for (double x = -110; x <= 110; x += 0.013) inputs.push_back(static_cast<float>(x));
  for (double x = 1e-30; x < 1e30; x *= 7)
    inputs.insert(inputs.end(), {static_cast<float>(x), -static_cast<float>(x)});
  Random random;
  Rows one(random, 1, 1, 1, XCPU_F32);
  one.set(0, 0, 1);
  const auto rows = static_cast<std::int64_t>(inputs.size());
  Rows x(random, rows, 1, 1, XCPU_F32);
  Rows out(random, rows, 1, 1, XCPU_F32);
  for (std::int64_t i = 0; i < rows; ++i) x.set(i, 0, inputs[static_cast<std::size_t>(i)]);
  for (const std::string& isa : instruction_sets()) {
    ASSERT_EQ(xcpu_use_isa(isa.c_str()), nullptr);
    for (const xcpu_activation activation : {XCPU_RELU, XCPU_GELU, XCPU_GELU_TANH, XCPU_SILU}) {
      xcpu_linear_args args{};
      args.rows = rows;
      args.x = x.get();
      args.weight = {one.get().data, XCPU_W_F32, 0, 0, 1, 1};
      args.activation = activation;
      args.out = out.get();
      const Scratch scratch(xcpu_linear_scratch(&args));
      ASSERT_STREQ(xcpu_linear(&args, scratch.data(), nullptr), nullptr);
      for (std::int64_t i = 0; i < rows; ++i) {
        const double expected = activated(activation, inputs[static_cast<std::size_t>(i)]);
        // Where the result is tiny, so is the exponential in it, whose argument is rounded; below 3e-37 one
        // overflows, as PyTorch's does.
        const double argument = std::min(100.0, std::fabs(inputs[static_cast<std::size_t>(i)]));
        const double relative = 1e-6 + 0x1p-23 * argument * argument;
        ASSERT_NEAR(out.at(i, 0), expected, relative * std::fabs(expected) + 3e-37)
            << isa << " activation " << activation << " of " << inputs[static_cast<std::size_t>(i)];
      }
    }
  }
  xcpu_use_isa(nullptr);
}

TEST(XcpuActivation, of_what_is_no_number_is_pytorchs) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Expected {
    xcpu_activation activation;
    double of_infinity, of_minus_infinity;
  };
  Random random;
  Rows one(random, 1, 1, 1, XCPU_F32);
  one.set(0, 0, 1);
  Rows x(random, 3, 1, 1, XCPU_F32);
  Rows out(random, 3, 1, 1, XCPU_F32);
  x.set(0, 0, INFINITY);
  x.set(1, 0, -INFINITY);
  x.set(2, 0, nan);
  for (const std::string& isa : instruction_sets()) {
    SCOPED_TRACE(isa);
    ASSERT_EQ(xcpu_use_isa(isa.c_str()), nullptr);
    for (const Expected& expected : {Expected{XCPU_RELU, INFINITY, 0}, Expected{XCPU_GELU, INFINITY, nan},
                                     Expected{XCPU_SILU, INFINITY, nan}}) {
      xcpu_linear_args args{};
      args.rows = 3;
      args.x = x.get();
      args.weight = {one.get().data, XCPU_W_F32, 0, 0, 1, 1};
      args.activation = expected.activation;
      args.out = out.get();
      const Scratch scratch(xcpu_linear_scratch(&args));
      ASSERT_STREQ(xcpu_linear(&args, scratch.data(), nullptr), nullptr);
      EXPECT_EQ(out.at(0, 0), expected.of_infinity);
      if (std::isnan(expected.of_minus_infinity)) {
        EXPECT_TRUE(std::isnan(out.at(1, 0)));
      } else {
        EXPECT_EQ(out.at(1, 0), expected.of_minus_infinity);
      }
      EXPECT_TRUE(std::isnan(out.at(2, 0)));
    }
  }
  xcpu_use_isa(nullptr);
}

TEST(XcpuLinearRefusal, names_the_argument) {
  Random random(9);
  Product product(random, kForms[0], 2, 20, 128);
  const auto refusal = [&](auto&& change) {
    xcpu_linear_args args = product.args;
    change(args);
    const char* sentence = xcpu_linear(&args, nullptr, nullptr);
    return std::string(sentence != nullptr ? sentence : "");
  };
  EXPECT_EQ(refusal([](auto& args) { args.x.data = nullptr; }), "x.data is NULL");
  EXPECT_EQ(refusal([](auto& args) { args.weight.data = nullptr; }), "weight.data is NULL");
  EXPECT_EQ(refusal([](auto& args) { args.x.stride = 100; }),
            "x.stride is 100, less than the 128 elements of a row");
  EXPECT_EQ(refusal([](auto& args) { args.out.dtype = static_cast<xcpu_dtype>(9); }),
            "out.dtype is 9; dtypes are 0 to 2");
  EXPECT_EQ(refusal([](auto& args) { args.rows = -1; }), "rows is -1; it is 0 or more");
  EXPECT_EQ(refusal([](auto& args) { args.activation = static_cast<xcpu_activation>(7); }),
            "activation is 7; activations are 0 to 4");
  EXPECT_EQ(refusal([](auto& args) { args.weight.n = 0; }),
            "weight.n is 0; a weight has at least one output");
}

}  // namespace
}  // namespace xcpu_test
