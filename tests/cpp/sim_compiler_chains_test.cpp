// Chains of operations that are too long for one loop: what lies between the loops, however large the blocks
// are that they go over, and what is written at their end.

#include "sim_graph.h"

namespace sim_test {
namespace {

// h0 = sigmoid(x), h = tanh(h y + h0) five times, and then, where h0 > 0.5, h instead of x: which becomes the
// content of x. Of it the sums of rows; and h after two steps.
struct Chain {
  Graph g;

  Chain(plug_dtype dtype, std::int64_t rows, std::int64_t width, bool is_turned) {
    const Dims sizes = {rows, width};
    const int x = g.input(dtype, sizes, {width, 1}),
              y = g.input(dtype, sizes, is_turned ? Dims{1, rows} : Dims{width, 1});
    const int first = g.node("aten::sigmoid", {ref(x)}, dtype, sizes);
    int h = first, second = first;
    for (int i = 0; i < 5; ++i) {
      const int product = g.node("aten::mul.Tensor", {ref(h), ref(y)}, dtype, sizes);
      const int sum = g.node("aten::add.Tensor", {ref(product), ref(first), integer_arg(1)}, dtype, sizes);
      h = g.node("aten::tanh", {ref(sum)}, dtype, sizes);
      if (i == 1) second = h;
    }
    const int mask = g.node("aten::gt.Scalar", {ref(first), real_arg(0.5)}, PLUG_BOOL, sizes);
    const int last = g.node("aten::where.self", {ref(mask), ref(h), ref(x)}, dtype, sizes);
    g.output(second, -1, {width, 1});
    g.output(last, x, {width, 1});
    g.output(
        g.node("aten::sum.dim_IntList", {ref(last), ints_arg({1}), bool_arg(false), none()}, dtype, {rows}),
        -1, {1});
  }
};

void expect_chain(Compiled& engine, const Dims& sizes, const Dims& symbols, double tolerance) {
  const auto rows = static_cast<std::size_t>(sizes[0]), width = static_cast<std::size_t>(sizes[1]);
  const Content x = as_floats(random_content(rows * width, 7)),
                y = as_floats(random_content(rows * width, 8));
  const std::vector<Content> got = engine.run({x, y}, symbols);
  Content sums(rows, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double first = 1 / (1 + std::exp(-x[i]));
    double h = first, second = 0;
    for (int step = 0; step < 5; ++step) {
      h = std::tanh(h * y[i] + first);
      if (step == 1) second = h;
    }
    const double last = first > 0.5 ? h : x[i];
    ASSERT_NEAR(got.at(0).at(i), second, tolerance) << i;
    ASSERT_NEAR(got.at(1).at(i), last, tolerance) << i;
    sums[i / width] += last;
  }
  for (std::size_t r = 0; r < rows; ++r)
    ASSERT_NEAR(got.at(2).at(r), sums[r], tolerance * static_cast<double>(width)) << r;
}

TEST(SimCompilerChains, RowsOfAnySizeAreComputedInSeveralLoops) {
  for (const bool is_turned : {false, true}) {
    Chain chain(PLUG_F32, -1, -2, is_turned);
    chain.g.symbol(0, 1000);
    chain.g.symbol(0, 1000);
    Compiled engine(chain.g);
    EXPECT_NE(engine.text().find("from += 256"), std::string::npos) << engine.text();
    for (const Dims& sizes :
         {Dims{3, 1}, Dims{2, 255}, Dims{1, 256}, Dims{2, 257}, Dims{40, 600}, Dims{0, 5}, Dims{5, 0}}) {
      expect_chain(engine, sizes, sizes, 1e-5);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SimCompilerChains, FixedSizesOfFloat64AndTinyRows) {
  for (const std::int64_t width : {3, 300}) {
    Chain chain(PLUG_F64, 5, width, false);
    Compiled engine(chain.g);
    expect_chain(engine, {5, width}, {}, 1e-12);
    if (HasFatalFailure()) return;
  }
}

TEST(SimCompilerChains, WithoutRowsTheElementsAreSharedAmongThreads) {
  constexpr std::int64_t kCount = 100'003;
  Graph g;
  const int x = g.input(PLUG_F32, {kCount});
  int h = x;
  for (int i = 0; i < 6; ++i) {
    const int s = g.node("aten::sigmoid", {ref(h)}, PLUG_F32, {kCount});
    h = g.node("aten::mul.Scalar", {ref(s), real_arg(1.5)}, PLUG_F32, {kCount});
  }
  g.output(h);
  const Content in = as_floats(random_content(kCount, 3));
  const Content got = Compiled(g).run({in}).at(0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    double expected = in[i];
    for (int step = 0; step < 6; ++step) expected = 1.5 / (1 + std::exp(-expected));
    ASSERT_NEAR(got[i], expected, 1e-6) << i;
  }
}

}  // namespace
}  // namespace sim_test
