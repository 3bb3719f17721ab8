// Products, convolutions, attention and pooling as sim's compiler makes them for whole models: against loops
// that are as plain as possible, in float64.

#include <limits>

#include "graph_reference.h"

namespace sim_test {
namespace {

Content rounded_content(std::int64_t count, std::uint64_t seed) {
  Content made = random_content(static_cast<std::size_t>(count), seed);
  for (double& value : made) value = static_cast<float>(value);
  return made;
}

void expect_near(const Content& got, const Content& wanted, double near) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], near) << "at " << i;
}

// [m, k] x [k, n]
Content multiplied(const Content& a, const Content& b, std::int64_t m, std::int64_t k, std::int64_t n) {
  Content made(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
      made[static_cast<std::size_t>(i * n + j)] = sum;
    }
  }
  return made;
}

TEST(SimCompilerProducts, MatricesOfEverySizeThatSymbolsHave) {
  Graph g;
  const std::int64_t m = g.symbol(0, 1000), k = g.symbol(0, 1000), n = g.symbol(0, 1000);
  const int a = g.input(PLUG_F32, {m, k}, {k, 1}), b = g.input(PLUG_F32, {k, n}, {n, 1});
  g.output(g.node("aten::mm", {ref(a), ref(b)}, PLUG_F32, {m, n}), -1, {n, 1});
  Compiled engine(g);
  for (const Dims& s : {Dims{5, 7, 9}, Dims{1, 1, 1}, Dims{4, 16, 64}, Dims{7, 33, 130}, Dims{0, 3, 4},
                        Dims{3, 0, 4}, Dims{3, 4, 0}, Dims{1, 200, 65}}) {
    const Content left = rounded_content(s[0] * s[1], 1), right = rounded_content(s[1] * s[2], 2);
    expect_near(engine.run({left, right}, s).at(0), multiplied(left, right, s[0], s[1], s[2]), 1e-3);
  }
}

TEST(SimCompilerProducts, MatricesOfEachTypeAndLayout) {
  constexpr std::int64_t kM = 9, kK = 20, kN = 70;
  const Content left = rounded_content(kM * kK, 1), right = rounded_content(kK * kN, 2),
                bias = rounded_content(kN, 3);
  Content wanted = multiplied(left, right, kM, kK, kN);
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = 2 * wanted[i] + 0.5 * bias[i % kN];
  struct Case {
    plug_dtype dtype;
    Dims a, b;
    double near;
  };
  for (const Case& c : {Case{PLUG_F32, {kK, 1}, {kN, 1}, 1e-4}, Case{PLUG_F32, {1, kM}, {1, kK}, 1e-4},
                        Case{PLUG_F64, {kK, 1}, {1, kK}, 1e-12}, Case{PLUG_BF16, {kK, 1}, {kN, 1}, 0.4}}) {
    Graph g;
    const int a = g.input(c.dtype, {kM, kK}, c.a), b = g.input(c.dtype, {kK, kN}, c.b),
              x = g.input(c.dtype, {kN});
    g.output(
        g.node("aten::addmm", {ref(x), ref(a), ref(b), real_arg(0.5), integer_arg(2)}, c.dtype, {kM, kN}));
    expect_near(Compiled(g).run({left, right, bias}).at(0), wanted, c.near);
  }
}

struct ConvolutionCase {
  std::int64_t stride, padding, dilation, groups;
};

// [N, C, H, W] with [O, C / groups, K, K]
Array convolved(const Array& x, const Array& w, const ConvolutionCase& c) {
  const std::int64_t kernel = w.sizes[2], per_group = w.sizes[0] / c.groups;
  const auto count = [&](std::int64_t size) {
    return (size + 2 * c.padding - c.dilation * (kernel - 1) - 1) / c.stride + 1;
  };
  Array made{{x.sizes[0], w.sizes[0], count(x.sizes[2]), count(x.sizes[3])}, {}};
  each_index(made.sizes, [&](const Dims& o) {
    double sum = 0;
    each_index({w.sizes[1], kernel, kernel}, [&](const Dims& k) {
      const std::int64_t y = o[2] * c.stride - c.padding + k[1] * c.dilation;
      const std::int64_t z = o[3] * c.stride - c.padding + k[2] * c.dilation;
      if (y < 0 || z < 0 || y >= x.sizes[2] || z >= x.sizes[3]) return;
      sum += element(x, {o[0], o[1] / per_group * w.sizes[1] + k[0], y, z}) *
             element(w, {o[1], k[0], k[1], k[2]});
    });
    made.data.push_back(sum);
  });
  return made;
}

TEST(SimCompilerProducts, ConvolutionsWithStridePaddingDilationAndGroups) {
  for (const ConvolutionCase& c : {ConvolutionCase{1, 0, 1, 1}, ConvolutionCase{1, 1, 1, 1},
                                   ConvolutionCase{2, 1, 1, 2}, ConvolutionCase{1, 2, 2, 1}}) {
    const Array x{{2, 4, 7, 8}, rounded_content(2 * 4 * 7 * 8, 1)};
    const Array w{{6, 4 / c.groups, 3, 3}, rounded_content(6 * 4 / c.groups * 9, 2)};
    const Array wanted = convolved(x, w, c);
    Graph g;
    const int in = g.input(PLUG_F32, x.sizes), weight = g.input(PLUG_F32, w.sizes);
    g.output(g.node(
        "aten::convolution",
        {ref(in), ref(weight), none(), ints_arg({c.stride, c.stride}), ints_arg({c.padding, c.padding}),
         ints_arg({c.dilation, c.dilation}), bool_arg(false), ints_arg({0, 0}), integer_arg(c.groups)},
        PLUG_F32, wanted.sizes));
    expect_near(Compiled(g).run({x.data, w.data}).at(0), wanted.data, 1e-4);
  }
}

// The gradient is linear: <grad, conv(x, w)> is <grad_x, x> and <grad_w, w>.
TEST(SimCompilerProducts, GradientsOfConvolutionsAreTheTransposed) {
  const ConvolutionCase c{2, 1, 1, 1};
  const Array x{{2, 3, 7, 6}, rounded_content(2 * 3 * 7 * 6, 1)}, w{{4, 3, 3, 3}, rounded_content(4 * 27, 2)};
  const Array y = convolved(x, w, c);
  const Content grad = rounded_content(y.count(), 3);
  Graph g;
  const int up = g.input(PLUG_F64, y.sizes), in = g.input(PLUG_F64, x.sizes),
            weight = g.input(PLUG_F64, w.sizes);
  const auto made = g.nodes("aten::convolution_backward",
                            {ref(up), ref(in), ref(weight), none(), ints_arg({2, 2}), ints_arg({1, 1}),
                             ints_arg({1, 1}), bool_arg(false), ints_arg({0, 0}), integer_arg(1), none()},
                            {{PLUG_F64, x.sizes}, {PLUG_F64, w.sizes}, {PLUG_F64, {4}}});
  for (const int value : made) g.output(value);
  const std::vector<Content> got = Compiled(g).run({grad, x.data, w.data});
  const auto dot = [](const Content& a, const Content& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  EXPECT_NEAR(dot(got[0], x.data), dot(grad, y.data), 1e-8);
  EXPECT_NEAR(dot(got[1], w.data), dot(grad, y.data), 1e-8);
  // Along another direction too, which a gradient scaled by chance would not survive.
  const Array other{x.sizes, rounded_content(x.count(), 9)};
  EXPECT_NEAR(dot(got[0], other.data), dot(grad, convolved(other, w, c).data), 1e-8);
  const Array weights{w.sizes, rounded_content(w.count(), 8)};
  EXPECT_NEAR(dot(got[1], weights.data), dot(grad, convolved(x, weights, c).data), 1e-8);
}

TEST(SimCompilerProducts, AttentionSeesNothingThatIsToCome) {
  constexpr std::int64_t kT = 6, kD = 8;
  Graph g;
  const Dims sizes = {1, 2, kT, kD};
  const int q = g.input(PLUG_F32, sizes), k = g.input(PLUG_F32, sizes), v = g.input(PLUG_F32, sizes);
  const auto made = g.nodes("aten::_scaled_dot_product_flash_attention_for_cpu",
                            {ref(q), ref(k), ref(v), real_arg(0), bool_arg(true), none(), none()},
                            {{PLUG_F32, sizes}, {PLUG_F32, {1, 2, kT}}});
  g.output(made[0]);
  g.output(made[1]);
  const Array query{sizes, rounded_content(2 * kT * kD, 1)}, key{sizes, rounded_content(2 * kT * kD, 2)};
  const Array value{sizes, rounded_content(2 * kT * kD, 3)};
  const std::vector<Content> got = Compiled(g).run({query.data, key.data, value.data});
  each_index({2, kT}, [&](const Dims& at) {
    Content weights;
    double sum = 0;
    for (std::int64_t t = 0; t <= at[1]; ++t) {
      double score = 0;
      for (std::int64_t d = 0; d < kD; ++d)
        score += element(query, {0, at[0], at[1], d}) * element(key, {0, at[0], t, d});
      weights.push_back(std::exp(score / std::sqrt(kD)));
      sum += weights.back();
    }
    const auto row = static_cast<std::size_t>(at[0] * kT + at[1]);
    EXPECT_NEAR(got[1][row], std::log(sum), 1e-4);
    for (std::int64_t d = 0; d < kD; ++d) {
      double wanted = 0;
      for (std::int64_t t = 0; t <= at[1]; ++t)
        wanted += weights[static_cast<std::size_t>(t)] / sum * element(value, {0, at[0], t, d});
      EXPECT_NEAR(got[0][row * kD + static_cast<std::size_t>(d)], wanted, 1e-5);
    }
  });
}

// Attention of which 3 heads of queries share each of 2 heads of keys, with a mask that hides all from one
// query.
struct Grouped {
  static constexpr std::int64_t kKeys = 2, kGroup = 3, kHeads = kKeys * kGroup, kT = 4, kS = 5, kD = 8;
  const Dims of_queries = {1, kHeads, kT, kD}, of_keys = {1, kKeys, kS, kD};
  Array query{of_queries, rounded_content(kHeads* kT* kD, 1)},
      key{of_keys, rounded_content(kKeys* kS* kD, 2)};
  Array value{of_keys, rounded_content(kKeys* kS* kD, 3)},
      grad{of_queries, rounded_content(kHeads* kT* kD, 4)};

  static bool is_seen(std::int64_t t, std::int64_t s) { return t != 2 && s <= t + 1; }

  // The weights of the keys that a query sees.
  Content weights(std::int64_t head, std::int64_t t) const {
    Content made(kS, 0);
    double sum = 0;
    for (std::int64_t s = 0; s < kS; ++s) {
      double score = 0;
      for (std::int64_t d = 0; d < kD; ++d)
        score += element(query, {0, head, t, d}) * element(key, {0, head / kGroup, s, d});
      const double weight = is_seen(t, s) ? std::exp(score / std::sqrt(kD)) : 0;
      made[static_cast<std::size_t>(s)] = weight;
      sum += weight;
    }
    for (double& weight : made) weight = sum == 0 ? 0 : weight / sum;
    return made;
  }
};

TEST(SimCompilerProducts, HeadsOfQueriesShareHeadsOfKeys) {
  using G = Grouped;
  const G a;
  Graph g;
  const int q = g.input(PLUG_F32, a.of_queries), k = g.input(PLUG_F32, a.of_keys),
            v = g.input(PLUG_F32, a.of_keys), mask = g.input(PLUG_F32, {G::kT, G::kS}),
            up = g.input(PLUG_F32, a.of_queries);
  const auto made = g.nodes("aten::_scaled_dot_product_flash_attention_for_cpu",
                            {ref(q), ref(k), ref(v), real_arg(0), bool_arg(false), ref(mask), none()},
                            {{PLUG_F32, a.of_queries}, {PLUG_F32, {1, G::kHeads, G::kT}}});
  const auto back = g.nodes("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                            {ref(up), ref(q), ref(k), ref(v), ref(made[0]), ref(made[1]), real_arg(0),
                             bool_arg(false), ref(mask), none()},
                            {{PLUG_F32, a.of_queries}, {PLUG_F32, a.of_keys}, {PLUG_F32, a.of_keys}});
  g.output(made[0]);
  for (const int value : back) g.output(value);
  Content seen;
  each_index({G::kT, G::kS}, [&](const Dims& at) {
    seen.push_back(G::is_seen(at[0], at[1]) ? 0 : -std::numeric_limits<double>::infinity());
  });
  const std::vector<Content> got =
      Compiled(g).run({a.query.data, a.key.data, a.value.data, seen, a.grad.data});
  ASSERT_EQ(got.size(), 4u);

  Content out(a.query.data.size(), 0), by_query(out), by_key(a.key.data.size(), 0), by_value(by_key);
  each_index({G::kHeads, G::kT}, [&](const Dims& at) {
    const std::int64_t head = at[0], t = at[1], shared = head / G::kGroup;
    const Content weights = a.weights(head, t);
    const auto row = [](std::int64_t h, std::int64_t length, std::int64_t i) {
      return static_cast<std::size_t>((h * length + i) * G::kD);
    };
    Content slopes;
    double mean = 0;
    for (std::int64_t s = 0; s < G::kS; ++s) {
      double slope = 0;
      for (std::int64_t d = 0; d < G::kD; ++d)
        slope += element(a.grad, {0, head, t, d}) * element(a.value, {0, shared, s, d});
      slopes.push_back(slope);
      mean += weights[static_cast<std::size_t>(s)] * slope;
    }
    for (std::int64_t s = 0; s < G::kS; ++s) {
      const double weight = weights[static_cast<std::size_t>(s)];
      const double inner = weight * (slopes[static_cast<std::size_t>(s)] - mean) / std::sqrt(G::kD);
      for (std::int64_t d = 0; d < G::kD; ++d) {
        const auto at_query = row(head, G::kT, t) + static_cast<std::size_t>(d);
        const auto at_key = row(shared, G::kS, s) + static_cast<std::size_t>(d);
        out[at_query] += weight * a.value.data[at_key];
        by_query[at_query] += inner * a.key.data[at_key];
        by_key[at_key] += inner * a.query.data[at_query];
        by_value[at_key] += weight * a.grad.data[at_query];
      }
    }
  });
  expect_near(got[0], out, 1e-5);
  expect_near(got[1], by_query, 1e-4);
  expect_near(got[2], by_key, 1e-4);
  expect_near(got[3], by_value, 1e-4);
}

TEST(SimCompilerProducts, MaxPoolingKeepsWhereItFoundWhatItKept) {
  const Array x{{1, 2, 5, 5}, rounded_content(50, 4)};
  const Dims pooled = {1, 2, 3, 3};
  Graph g;
  const int in = g.input(PLUG_F32, x.sizes), up = g.input(PLUG_F32, pooled);
  const auto made = g.nodes(
      "aten::max_pool2d_with_indices",
      {ref(in), ints_arg({3, 3}), ints_arg({2, 2}), ints_arg({1, 1}), ints_arg({1, 1}), bool_arg(false)},
      {{PLUG_F32, pooled}, {PLUG_I64, pooled}});
  g.output(made[0]);
  g.output(made[1]);
  g.output(g.node("aten::max_pool2d_with_indices_backward",
                  {ref(up), ref(in), ints_arg({3, 3}), ints_arg({2, 2}), ints_arg({1, 1}), ints_arg({1, 1}),
                   bool_arg(false), ref(made[1])},
                  PLUG_F32, x.sizes));
  const Content grad = rounded_content(18, 5);
  const std::vector<Content> got = Compiled(g).run({x.data, grad});
  Content back(50, 0);
  std::size_t next = 0;
  each_index(pooled, [&](const Dims& o) {
    double most = -1e30;
    std::int64_t where = -1;
    each_index({3, 3}, [&](const Dims& k) {
      const std::int64_t y = o[2] * 2 - 1 + k[0], z = o[3] * 2 - 1 + k[1];
      if (y < 0 || z < 0 || y >= 5 || z >= 5 || element(x, {0, o[1], y, z}) <= most) return;
      most = element(x, {0, o[1], y, z});
      where = y * 5 + z;
    });
    EXPECT_EQ(got[0][next], most);
    EXPECT_EQ(got[1][next], static_cast<double>(where));
    back[static_cast<std::size_t>(o[1] * 25 + where)] += grad[next++];
  });
  expect_near(got[2], back, 1e-6);
}

}  // namespace
}  // namespace sim_test
