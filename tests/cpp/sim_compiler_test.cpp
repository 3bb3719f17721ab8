// The sim plugin's compiler: what its engines compute, against float64.

#include "sim_graph.h"

namespace sim_test {
namespace {

Content as_floats(Content content) {
  for (double& value : content) value = static_cast<float>(value);
  return content;
}

TEST(SimCompiler, ComputesAChainOfPointwiseOperators) {
  Graph g;
  const int x = g.input(PLUG_F32, {3, 5});
  const int bias = g.input(PLUG_F32, {5});
  const int sum = g.node("aten::add.Tensor", {ref(x), ref(bias), integer_arg(1)}, PLUG_F32, {3, 5});
  const int y = g.node("aten::sigmoid", {ref(sum)}, PLUG_F32, {3, 5});
  g.output(y);
  Compiled engine(g);
  const Content a = as_floats(random_content(15, 1)), b = as_floats(random_content(5, 2));
  const Content got = engine.run({a, b}).at(0);
  for (std::size_t i = 0; i < 15; ++i) EXPECT_NEAR(got[i], 1 / (1 + std::exp(-(a[i] + b[i % 5]))), 1e-6);
}

}  // namespace
}  // namespace sim_test
