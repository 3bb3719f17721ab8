// The gradient of attention of sequences in memory, against float64.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "xcpu_attention.h"

namespace xcpu_test {
namespace {

class XcpuAttentionGradient : public OfEachIsa {};
INSTANTIATE_TEST_SUITE_P(All, XcpuAttentionGradient, testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

struct GradientCase {
  int kv_heads, group, head_dim, team, threads;
  std::vector<std::int64_t> queries, keys;
  xcpu_dtype q, kv, out, grad, results;
  bool has_q, has_k, has_v;
  std::int64_t gap;
  ScoreOptions options;

  static GradientCase draw(Random& random) {
    GradientCase drawn{};
    drawn.kv_heads = static_cast<int>(choose(random, 1, 2));
    drawn.group = one_of<int>(random, {1, 1, 2, 3});
    drawn.head_dim =
        choose(random, 0, 1) == 0 ? static_cast<int>(choose(random, 1, 70)) : one_of<int>(random, {32, 64});
    drawn.team = static_cast<int>(choose(random, 1, 3));
    drawn.threads = static_cast<int>(choose(random, 1, 3));
    const bool are_as_long = choose(random, 0, 2) != 0;
    for (std::int64_t s = choose(random, 1, 3); s > 0; --s) {
      drawn.queries.push_back(choose(random, 0, choose(random, 0, 4) == 0 ? 180 : 40));
      drawn.keys.push_back(are_as_long ? drawn.queries.back() : drawn.queries.back() + choose(random, 0, 50));
    }
    drawn.kv = one_of<xcpu_dtype>(random, {XCPU_F32, XCPU_BF16});
    const bool is_one_dtype = choose(random, 0, 2) != 0;
    for (xcpu_dtype* dtype : {&drawn.q, &drawn.out, &drawn.grad, &drawn.results}) {
      *dtype = is_one_dtype ? drawn.kv : one_of<xcpu_dtype>(random, {XCPU_F32, XCPU_BF16});
    }
    for (bool* has : {&drawn.has_q, &drawn.has_k, &drawn.has_v}) *has = choose(random, 0, 5) != 0;
    drawn.gap = choose(random, 0, 3);
    drawn.options = ScoreOptions::draw(random, drawn.kv_heads * drawn.group, true);
    return drawn;
  }

  std::string text() const {
    std::string all = "kv_heads " + std::to_string(kv_heads) + " group " + std::to_string(group) +
                      " head_dim " + std::to_string(head_dim) + " team " + std::to_string(team) + " kv " +
                      std::to_string(kv) + options.text() + " queries and keys";
    for (std::size_t s = 0; s < queries.size(); ++s) {
      all += " " + std::to_string(queries[s]) + "/" + std::to_string(keys[s]);
    }
    return all;
  }
};

using Matrix = std::vector<std::vector<double>>;

Matrix matrix_of(const Heads& heads, std::int64_t first, std::int64_t tokens, std::int64_t head, int dim,
                 bool is_rounded) {
  Matrix matrix;
  for (std::int64_t t = first; t < first + tokens; ++t) {
    matrix.emplace_back();
    for (int i = 0; i < dim; ++i) {
      const double value = heads.at(t, head, i);
      matrix.back().push_back(is_rounded ? rounded_to(XCPU_BF16, value) : value);
    }
  }
  return matrix;
}

Bounded dot(const std::vector<double>& a, const std::vector<double>& b) {
  Bounded result{0, 0};
  for (std::size_t i = 0; i < a.size(); ++i) {
    result.value += a[i] * b[i];
    result.error += std::fabs(a[i] * b[i]);
  }
  return result;
}

// Sums and what they may lose, of the tokens of a sequence.
struct Gradients {
  Matrix value, error;

  Gradients(std::int64_t tokens, int dim)
      : value(static_cast<std::size_t>(tokens), std::vector<double>(static_cast<std::size_t>(dim))),
        error(value) {}

  void add(std::int64_t token, Bounded factor, const std::vector<double>& vector) {
    for (std::size_t i = 0; i < vector.size(); ++i) {
      value[static_cast<std::size_t>(token)][i] += factor.value * vector[i];
      error[static_cast<std::size_t>(token)][i] += factor.error * std::fabs(vector[i]);
    }
  }

  void expect(const HeadsResult& found, std::int64_t first, std::int64_t head, xcpu_dtype dtype,
              const std::string& name) const {
    for (std::size_t t = 0; t < value.size(); ++t) {
      for (std::size_t i = 0; i < value[t].size(); ++i) {
        const Bounded expected = stored(dtype, {value[t][i], error[t][i] + 1e-30});
        ASSERT_NEAR(found.at(first + static_cast<std::int64_t>(t), head, static_cast<std::int64_t>(i)),
                    expected.value, expected.error)
            << name << " of token " << t << " head " << head << " element " << i;
      }
    }
  }
};

void expect_right(const GradientCase& drawn, Random& random) {
  SCOPED_TRACE(drawn.text());
  std::vector<std::int64_t> q_starts = {0};
  std::vector<std::int64_t> k_starts = {0};
  for (std::size_t s = 0; s < drawn.queries.size(); ++s) {
    q_starts.push_back(q_starts.back() + drawn.queries[s]);
    k_starts.push_back(k_starts.back() + drawn.keys[s]);
  }
  if (q_starts.back() == 0) return;
  const int q_heads = drawn.kv_heads * drawn.group;
  const int dim = drawn.head_dim;
  const Heads q(random, q_starts.back(), q_heads, dim, drawn.q, drawn.gap);
  const Heads k(random, k_starts.back(), drawn.kv_heads, dim, drawn.kv, drawn.gap, 1, true);
  const Heads v(random, k_starts.back(), drawn.kv_heads, dim, drawn.kv, drawn.gap);
  const Heads out(random, q_starts.back(), q_heads, dim, drawn.out, drawn.gap);
  const Heads grad(random, q_starts.back(), q_heads, dim, drawn.grad, drawn.gap);
  HeadsResult grad_q(q_starts.back(), q_heads, dim, drawn.results, drawn.gap);
  HeadsResult grad_k(k_starts.back(), drawn.kv_heads, dim, drawn.results, drawn.gap);
  HeadsResult grad_v(k_starts.back(), drawn.kv_heads, dim, drawn.results, drawn.gap);
  std::vector<float> lse(static_cast<std::size_t>(q_starts.back() * q_heads));
  xcpu_attention_backward_args args{};
  args.forward.sequences = static_cast<std::int64_t>(drawn.queries.size());
  args.forward.q_starts = q_starts.data();
  args.forward.k_starts = k_starts.data();
  args.forward.q_heads = q_heads;
  args.forward.kv_heads = drawn.kv_heads;
  args.forward.head_dim = dim;
  args.forward.threads = drawn.threads;
  args.forward.scores = drawn.options.get();
  args.forward.q = q.get();
  args.forward.k = k.get();
  args.forward.v = v.get();
  args.forward.out = out.get();
  args.forward.lse = lse.data();
  args.grad = grad.get();
  if (drawn.has_q) args.grad_q = grad_q.get();
  if (drawn.has_k) args.grad_k = grad_k.get();
  if (drawn.has_v) args.grad_v = grad_v.get();
  Team team(drawn.team);
  const Scratch forward_scratch(xcpu_attention_scratch(&args.forward));
  ASSERT_STREQ(xcpu_attention(&args.forward, forward_scratch.data(), team.get()), nullptr);
  const Scratch scratch(xcpu_attention_backward_scratch(&args));
  std::memset(scratch.data(), 0xFF, static_cast<std::size_t>(xcpu_attention_backward_scratch(&args)));
  ASSERT_STREQ(xcpu_attention_backward(&args, scratch.data(), team.get()), nullptr);
  grad_q.expect_nothing_else_written();
  grad_k.expect_nothing_else_written();
  grad_v.expect_nothing_else_written();

  const bool is_bf16 = drawn.kv == XCPU_BF16;
  const double loss = (is_bf16 ? 0x1p-8 : 0) + 3e-5;
  const double scale =
      drawn.options.scale != 0 ? drawn.options.scale : 1 / std::sqrt(static_cast<double>(dim));
  for (std::size_t s = 0; s < drawn.queries.size(); ++s) {
    for (int kv_head = 0; kv_head < drawn.kv_heads; ++kv_head) {
      const Matrix keys = matrix_of(k, k_starts[s], drawn.keys[s], kv_head, dim, is_bf16);
      const Matrix values = matrix_of(v, k_starts[s], drawn.keys[s], kv_head, dim, is_bf16);
      Gradients of_keys(drawn.keys[s], dim);
      Gradients of_values(drawn.keys[s], dim);
      for (int head = kv_head * drawn.group; head < (kv_head + 1) * drawn.group; ++head) {
        const Matrix queries = matrix_of(q, q_starts[s], drawn.queries[s], head, dim, is_bf16);
        const Matrix grads = matrix_of(grad, q_starts[s], drawn.queries[s], head, dim, is_bf16);
        const Matrix raw = matrix_of(grad, q_starts[s], drawn.queries[s], head, dim, false);
        const Matrix results = matrix_of(out, q_starts[s], drawn.queries[s], head, dim, false);
        Gradients of_queries(drawn.queries[s], dim);
        for (std::int64_t i = 0; i < drawn.queries[s]; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const std::int64_t position = drawn.keys[s] - drawn.queries[s] + i;
          const ReferenceResult expected = reference(
              drawn.options, {queries[at], position, head, drawn.keys[s]}, dim,
              [&](std::int64_t t, std::int64_t e) {
                return keys[static_cast<std::size_t>(t)][static_cast<std::size_t>(e)];
              },
              [](std::int64_t, std::int64_t) { return 0.0; }, 0, [](std::int64_t) { return 0.0; });
          const Bounded delta = dot(raw[at], results[at]);
          for (std::int64_t t = 0; t < drawn.keys[s]; ++t) {
            const auto key = static_cast<std::size_t>(t);
            const double weight = expected.weights[key];
            if (weight == 0) continue;
            const Bounded product = dot(grads[at], values[key]);
            double steepness = 1;
            if (drawn.options.softcap != 0) {
              const double tangent =
                  std::tanh(dot(queries[at], keys[key]).value * scale / drawn.options.softcap);
              steepness = 1 - tangent * tangent;
            }
            const double value = weight * (product.value - delta.value) * steepness * scale;
            const double error =
                weight * scale *
                ((product.error + delta.error) * 3e-5 + std::fabs(product.value - delta.value) * loss);
            of_queries.add(i, {value, error}, keys[key]);
            of_keys.add(t, {value, error}, queries[at]);
            of_values.add(t, {weight, weight * loss}, grads[at]);
          }
        }
        if (drawn.has_q) of_queries.expect(grad_q, q_starts[s], head, drawn.results, "query");
      }
      if (drawn.has_k) of_keys.expect(grad_k, k_starts[s], kv_head, drawn.results, "key");
      if (drawn.has_v) of_values.expect(grad_v, k_starts[s], kv_head, drawn.results, "value");
    }
  }
}

TEST_P(XcpuAttentionGradient, is_within_rounding_of_float64) {
  for (unsigned repeat = 0; repeat < (is_full_sweep() ? 400 : 25); ++repeat) {
    Random random(repeat);
    expect_right(GradientCase::draw(random), random);
    if (HasFailure()) return;
  }
}

TEST(XcpuAttentionGradientArguments, are_refused_by_name) {
  const std::int64_t starts[] = {0, 1};
  float data[16] = {};
  xcpu_attention_backward_args args{};
  args.forward.head_dim = 4;
  EXPECT_STREQ(xcpu_attention_backward(&args, nullptr, nullptr),
               "forward.kv_heads is 0; it is 1 to 2147483647");
  args.forward.kv_heads = args.forward.q_heads = args.forward.threads = 1;
  args.forward.sequences = 1;
  args.forward.q_starts = starts;
  args.forward.q = args.forward.k = args.forward.v = args.forward.out = {data, XCPU_F32, 4, 4};
  EXPECT_STREQ(xcpu_attention_backward(&args, nullptr, nullptr), "forward.lse is NULL");
  args.forward.lse = data;
  EXPECT_STREQ(xcpu_attention_backward(&args, nullptr, nullptr), "grad.data is NULL");
}

}  // namespace
}  // namespace xcpu_test
