// Functions of single elements as sim's compiler makes them: against libm in extended precision, in units in
// the last place; NaN, infinities, signed zeros and numbers below the normal range included.

#include <bit>
#include <functional>
#include <limits>

#include "sim_graph.h"

namespace sim_test {
namespace {

using Exact = std::function<long double(long double)>;

// How many float32 lie between two of them; the most there are where one is NaN and the other not.
std::int64_t steps_between(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<std::int32_t>::max();
  const auto place = [](float x) -> std::int64_t {
    const auto bits = std::bit_cast<std::int32_t>(x);
    return bits < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits : bits;
  };
  return std::abs(place(a) - place(b));
}

// Everything that is special, and numbers of every size.
Content telling_floats() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Content made = {0.0,
                  -0.0,
                  1,
                  -1,
                  0.5,
                  -0.5,
                  kInf,
                  -kInf,
                  std::numeric_limits<float>::quiet_NaN(),
                  std::numeric_limits<float>::min(),
                  -std::numeric_limits<float>::min(),
                  std::numeric_limits<float>::denorm_min(),
                  -std::numeric_limits<float>::denorm_min(),
                  std::numeric_limits<float>::max(),
                  std::numeric_limits<float>::lowest(),
                  88.7,
                  88.72284,
                  88.8,
                  89,
                  -87.3,
                  -87.4,
                  -88,
                  -100,
                  -103.9,
                  -104,
                  -110,
                  9,
                  -9,
                  20,
                  -20,
                  4,
                  -4};
  for (int exponent = -149; exponent < 128; ++exponent) {
    for (const double mantissa : {1.0, 1.3, 1.9}) {
      made.push_back(static_cast<float>(std::ldexp(mantissa, exponent)));
      made.push_back(-made.back());
    }
  }
  for (int i = -4000; i <= 4000; ++i) made.push_back(static_cast<float>(i * 0.0275 + 1e-4));
  for (int i = -2000; i <= 2000; ++i) made.push_back(static_cast<float>(i * 0.001));
  for (double& value : made) value = static_cast<float>(value);
  return made;
}

struct Function {
  const char* name;
  Exact exact;
  std::int64_t most_steps;
};

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"aten::exp", [](long double x) { return std::exp(x); }, 4},
      {"aten::expm1", [](long double x) { return std::expm1(x); }, 4},
      {"aten::log", [](long double x) { return std::log(x); }, 4},
      {"aten::log1p", [](long double x) { return std::log1p(x); }, 4},
      {"aten::tanh", [](long double x) { return std::tanh(x); }, 4},
      {"aten::erf", [](long double x) { return std::erf(x); }, 4},
      {"aten::sigmoid", [](long double x) { return 1 / (1 + std::exp(-x)); }, 4},
      {"aten::sqrt", [](long double x) { return std::sqrt(x); }, 0},
      {"aten::rsqrt", [](long double x) { return 1 / std::sqrt(x); }, 1},
      {"aten::reciprocal", [](long double x) { return 1 / x; }, 0},
      {"aten::abs", [](long double x) { return std::fabs(x); }, 0},
      {"aten::neg", [](long double x) { return -x; }, 0},
      {"aten::floor", [](long double x) { return std::floor(x); }, 0},
      {"aten::ceil", [](long double x) { return std::ceil(x); }, 0},
      {"aten::round", [](long double x) { return std::rint(x); }, 0},
      {"aten::trunc", [](long double x) { return std::trunc(x); }, 0},
      {"aten::sin", [](long double x) { return std::sin(x); }, 1},
      {"aten::cos", [](long double x) { return std::cos(x); }, 1},
      {"aten::atan", [](long double x) { return std::atan(x); }, 1},
      {"aten::erfc", [](long double x) { return std::erfc(x); }, 4},
      {"aten::exp2", [](long double x) { return std::exp2(x); }, 1},
      {"aten::log2", [](long double x) { return std::log2(x); }, 1},
  };
  return all;
}

TEST(SimCompilerMath, FunctionsOfFloat32AreWithinFourUnitsInTheLastPlace) {
  const Content inputs = telling_floats();
  Graph g;
  const auto count = static_cast<std::int64_t>(inputs.size());
  const int x = g.input(PLUG_F32, {count});
  for (const Function& function : functions()) g.output(g.node(function.name, {ref(x)}, PLUG_F32, {count}));
  Compiled engine(g);
  const std::vector<Content> got = engine.run({inputs});
  ASSERT_EQ(got.size(), functions().size()) << engine.error;
  for (std::size_t f = 0; f < functions().size(); ++f) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto exact = static_cast<float>(functions()[f].exact(inputs[i]));
      const auto made = static_cast<float>(got[f][i]);
      ASSERT_LE(steps_between(made, exact), functions()[f].most_steps)
          << functions()[f].name << " of " << inputs[i] << " is " << made << ", not " << exact;
      if (exact == 0) {
        ASSERT_EQ(std::signbit(made), std::signbit(exact)) << functions()[f].name << " of " << inputs[i];
      }
    }
  }
}

// Floats of every sign and exponent, with what is no number: one of each so many patterns of bits.
Content patterns_of_floats(std::uint32_t step) {
  Content made;
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += step)
    made.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return made;
}

// Of minus infinity it is NaN, as PyTorch's formula has it.
long double exact_gelu(long double x) {
  return x * 0.5L * std::erfc(-x * 0.70710678118654752440084436210485L);
}

TEST(SimCompilerMath, FunctionsThatModelsUseAreWithinFourUnitsOverTheWholeRange) {
  const std::vector<Function> all = {
      {"aten::exp", [](long double x) { return std::exp(x); }, 4},
      {"aten::erf", [](long double x) { return std::erf(x); }, 4},
      {"aten::tanh", [](long double x) { return std::tanh(x); }, 4},
      {"aten::sigmoid", [](long double x) { return 1 / (1 + std::exp(-x)); }, 4},
      {"aten::log", [](long double x) { return std::log(x); }, 4},
      {"aten::gelu", exact_gelu, 4},
  };
  const Content inputs = patterns_of_floats(16411);  // a prime: other digits for each exponent
  Graph g;
  const auto count = static_cast<std::int64_t>(inputs.size());
  const int x = g.input(PLUG_F32, {count});
  for (const Function& function : all) {
    std::vector<Arg> args = {ref(x)};
    if (function.name == std::string("aten::gelu")) args.push_back(text_arg("none"));
    g.output(g.node(function.name, args, PLUG_F32, {count}));
  }
  Compiled engine(g);
  const std::vector<Content> got = engine.run({inputs});
  ASSERT_EQ(got.size(), all.size()) << engine.error;
  for (std::size_t f = 0; f < all.size(); ++f) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto exact = static_cast<float>(all[f].exact(inputs[i]));
      const auto made = static_cast<float>(got[f][i]);
      ASSERT_LE(steps_between(made, exact), all[f].most_steps)
          << all[f].name << " of " << inputs[i] << " is " << made << ", not " << exact;
      if (exact == 0) {
        ASSERT_EQ(std::signbit(made), std::signbit(exact)) << all[f].name << " of " << inputs[i];
      }
    }
  }
}

TEST(SimCompilerMath, NanIsNanWhateverItsBits) {
  const std::vector<const char*> names = {"aten::exp", "aten::sigmoid", "aten::tanh",  "aten::erf",
                                          "aten::log", "aten::silu",    "aten::expm1", "aten::sqrt"};
  Content inputs;
  for (const std::uint32_t bits : {0x7FC00000u, 0x7FC00001u, 0x7FC00155u, 0xFFC001FFu, 0x7FFFFFFFu})
    inputs.push_back(std::bit_cast<float>(bits));
  const auto count = static_cast<std::int64_t>(inputs.size());
  Graph g;
  const int x = g.input(PLUG_F32, {count});
  for (const char* name : names) g.output(g.node(name, {ref(x)}, PLUG_F32, {count}));
  g.output(g.node("aten::gelu", {ref(x), text_arg("none")}, PLUG_F32, {count}));
  g.output(g.node("aten::_softmax", {ref(x), integer_arg(0), bool_arg(false)}, PLUG_F32, {count}));
  for (const Content& result : Compiled(g).run({inputs})) {
    for (const double value : result) EXPECT_TRUE(std::isnan(value)) << value;
  }
}

TEST(SimCompilerMath, NumbersInTheGraphAreThoseThatPyTorchMakesOfThem) {
  Graph g;
  const int x = g.input(PLUG_BF16, {2}), i = g.input(PLUG_I64, {2}), b = g.input(PLUG_BOOL, {2});
  const auto low = std::numeric_limits<std::int64_t>::min();
  g.output(g.node("aten::eq.Scalar", {ref(x), real_arg(0.1)}, PLUG_BOOL, {2}));
  g.output(g.node("aten::clamp", {ref(x), real_arg(0.3), none()}, PLUG_BF16, {2}));
  g.output(g.node("aten::bitwise_or.Scalar", {ref(i), integer_arg(low)}, PLUG_I64, {2}));
  g.output(g.node("aten::masked_fill.Scalar", {ref(b), ref(b), real_arg(0.5)}, PLUG_BOOL, {2}));
  const int filled = g.node("aten::full_like",
                            {ref(x), real_arg(0.1), none(), none(), none(), none(), none()}, PLUG_BF16, {2});
  g.output(g.node("aten::_to_copy",
                  {ref(filled), dtype_arg(PLUG_F32), none(), none(), none(), none(), none()}, PLUG_F32, {2}));
  const double tenth = plug_float_of_bf16(plug_bf16_of_float(0.1F));
  const std::vector<Content> got = Compiled(g).run({{tenth, 1}, {1, 0}, {1, 0}});
  EXPECT_EQ(got[0], (Content{1, 0}));
  EXPECT_EQ(got[1], (Content{plug_float_of_bf16(plug_bf16_of_float(0.3F)), 1}));
  EXPECT_EQ(got[2][1], static_cast<double>(low));
  EXPECT_EQ(got[3], (Content{1, 0}));
  EXPECT_EQ(got[4], (Content{tenth, tenth}));
}

TEST(SimCompilerMath, FunctionsOfFloat64AreThoseOfLibm) {
  const Content inputs = telling_floats();
  Graph g;
  const auto count = static_cast<std::int64_t>(inputs.size());
  const int x = g.input(PLUG_F64, {count});
  for (const Function& function : functions()) g.output(g.node(function.name, {ref(x)}, PLUG_F64, {count}));
  Compiled engine(g);
  const std::vector<Content> got = engine.run({inputs});
  ASSERT_EQ(got.size(), functions().size()) << engine.error;
  for (std::size_t f = 0; f < functions().size(); ++f) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto exact = static_cast<double>(functions()[f].exact(inputs[i]));
      const double made = got[f][i];
      const bool is_same =
          made == exact || (std::isnan(made) && std::isnan(exact)) ||
          std::fabs(made - exact) <= 8 * std::numeric_limits<double>::epsilon() * std::fabs(exact) +
                                         std::numeric_limits<double>::denorm_min();
      ASSERT_TRUE(is_same) << functions()[f].name << " of " << inputs[i] << " is " << made << ", not "
                           << exact;
    }
  }
}

TEST(SimCompilerMath, GeluAndSiluFollowTheirFormulas) {
  const Content inputs = telling_floats();
  Graph g;
  const auto count = static_cast<std::int64_t>(inputs.size());
  const int x = g.input(PLUG_F32, {count});
  g.output(g.node("aten::gelu", {ref(x), text_arg("none")}, PLUG_F32, {count}));
  g.output(g.node("aten::gelu", {ref(x), text_arg("tanh")}, PLUG_F32, {count}));
  g.output(g.node("aten::silu", {ref(x)}, PLUG_F32, {count}));
  const std::vector<Content> got = Compiled(g).run({inputs});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double v = inputs[i];
    if (!std::isfinite(v) || std::fabs(v) > 80) continue;
    const double inner = std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v);
    const double near = 2e-6 * std::max(1.0, std::fabs(v));
    EXPECT_NEAR(got[0][i], 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))), near);
    EXPECT_NEAR(got[1][i], 0.5 * v * (1 + std::tanh(inner)), near);
    EXPECT_NEAR(got[2][i], v / (1 + std::exp(-v)), near);
  }
  EXPECT_TRUE(std::isnan(got[0][8]) && std::isnan(got[1][8]) && std::isnan(got[2][8]));
}

TEST(SimCompilerMath, ExtremesAndClampsLetNanThrough) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const Content a = {1, nan, 2, nan, inf, -inf, 0}, b = {nan, 1, -3, nan, 0, 0, 5};
  for (const plug_dtype dtype : {PLUG_F32, PLUG_F64, PLUG_BF16, PLUG_F16}) {
    Graph g;
    const int x = g.input(dtype, {7}), y = g.input(dtype, {7});
    g.output(g.node("aten::maximum", {ref(x), ref(y)}, dtype, {7}));
    g.output(g.node("aten::minimum", {ref(x), ref(y)}, dtype, {7}));
    g.output(g.node("aten::clamp", {ref(x), real_arg(-1), real_arg(1.5)}, dtype, {7}));
    g.output(g.node("aten::relu", {ref(x)}, dtype, {7}));
    g.output(g.node("aten::amax", {ref(x), ints_arg({}), bool_arg(false)}, dtype, {}));
    g.output(g.node("aten::amin", {ref(y), ints_arg({0}), bool_arg(true)}, dtype, {1}));
    const std::vector<Content> got = Compiled(g).run({a, b});
    const auto same = [](const Content& made, const Content& wanted) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_TRUE(made[i] == wanted[i] || (std::isnan(made[i]) && std::isnan(wanted[i])))
            << i << ": " << made[i];
      }
    };
    same(got[0], {nan, nan, 2, nan, inf, 0, 5});
    same(got[1], {nan, nan, -3, nan, 0, -inf, 0});
    same(got[2], {1, nan, 1.5, nan, 1.5, -1, 0});
    same(got[3], {1, nan, 2, nan, inf, 0, 0});
    same(got[4], {nan});
    same(got[5], {nan});
  }
}

TEST(SimCompilerMath, DivisionsOfWholeNumbersDoNotTrap) {
  const Content a = {7, -7, 7, -7, 5, static_cast<double>(std::numeric_limits<std::int32_t>::min()), 0};
  const Content b = {2, 2, -2, -2, 0, -1, 3};
  for (const plug_dtype dtype : {PLUG_I64, PLUG_I32}) {
    Graph g;
    const int x = g.input(dtype, {7}), y = g.input(dtype, {7});
    g.output(g.node("aten::div.Tensor_mode", {ref(x), ref(y), text_arg("floor")}, dtype, {7}));
    g.output(g.node("aten::div.Tensor_mode", {ref(x), ref(y), text_arg("trunc")}, dtype, {7}));
    g.output(g.node("aten::remainder.Tensor", {ref(x), ref(y)}, dtype, {7}));
    g.output(g.node("aten::fmod.Tensor", {ref(x), ref(y)}, dtype, {7}));
    const std::vector<Content> got = Compiled(g).run({a, b});
    EXPECT_EQ(Content(got[0].begin(), got[0].begin() + 4), (Content{3, -4, -4, 3}));
    EXPECT_EQ(Content(got[1].begin(), got[1].begin() + 4), (Content{3, -3, -3, 3}));
    EXPECT_EQ(Content(got[2].begin(), got[2].begin() + 4), (Content{1, 1, -1, -1}));
    EXPECT_EQ(Content(got[3].begin(), got[3].begin() + 4), (Content{1, -1, 1, -1}));
    EXPECT_EQ(got[0][6], 0);
  }
}

TEST(SimCompilerMath, WholeNumbersHaveNoNegativeZero) {
  const Content values = {-0.25, -0.0, -1.5, 0.75, -3, 7.9};
  for (const plug_dtype whole : {PLUG_I64, PLUG_I32}) {
    for (const plug_dtype real : {PLUG_F32, PLUG_F64, PLUG_BF16}) {
      Graph g;
      const int x = g.input(real, {6});
      const int i = g.node("aten::_to_copy",
                           {ref(x), dtype_arg(whole), none(), none(), none(), none(), none()}, whole, {6});
      const int back = g.node("aten::_to_copy",
                              {ref(i), dtype_arg(real), none(), none(), none(), none(), none()}, real, {6});
      g.output(g.node("aten::reciprocal", {ref(back)}, real, {6}));
      const Content got = Compiled(g).run({values}).at(0);
      const double inf = std::numeric_limits<double>::infinity();
      EXPECT_EQ(got[0], inf);
      EXPECT_EQ(got[1], inf);
      EXPECT_EQ(got[2], -1);
      EXPECT_EQ(got[3], inf);
    }
  }
}

TEST(SimCompilerMath, ConversionsRoundToTheNearestAndTiesToEven) {
  const Content values = {1, 1.00390625, 1.01171875, 65504, 65519.9, 65520, 1e-8, 6e-8, 3.3e-5, -2.7, 300, 0};
  Graph g;
  const int x = g.input(PLUG_F32, {12});
  for (const plug_dtype dtype : {PLUG_BF16, PLUG_F16, PLUG_F64, PLUG_I64, PLUG_I32, PLUG_BOOL}) {
    g.output(g.node("aten::_to_copy", {ref(x), dtype_arg(dtype), none(), none(), none(), none(), none()},
                    dtype, {12}));
  }
  const std::vector<Content> got = Compiled(g).run({values});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto v = static_cast<float>(values[i]);
    EXPECT_EQ(got[0][i], plug_float_of_bf16(plug_bf16_of_float(v)));
    EXPECT_EQ(got[1][i], plug_float_of_f16(plug_f16_of_float(v)));
    EXPECT_EQ(got[2][i], v);
    EXPECT_EQ(got[3][i], std::trunc(v));
    EXPECT_EQ(got[4][i], std::trunc(v));
    EXPECT_EQ(got[5][i], v != 0 ? 1 : 0);
  }
}

}  // namespace
}  // namespace sim_test
