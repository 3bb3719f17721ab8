// Attention against float64: over caches, and of sequences in memory.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "xcpu_attention.h"

namespace xcpu_test {
namespace {

class XcpuAttention : public OfEachIsa {};
INSTANTIATE_TEST_SUITE_P(All, XcpuAttention, testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

const std::vector<xcpu_cache_kind> kKinds = {XCPU_CACHE_F32, XCPU_CACHE_BF16, XCPU_CACHE_INT8};

struct PagedCase {
  xcpu_cache_kind kind;
  int kv_heads, group, head_dim, page_tokens, team, threads;
  std::vector<std::int64_t> queries, lengths;
  xcpu_dtype q, out;
  std::int64_t gap;
  ScoreOptions options;

  static PagedCase draw(Random& random, xcpu_cache_kind kind, bool is_decode) {
    PagedCase drawn{};
    drawn.kind = kind;
    drawn.kv_heads = static_cast<int>(choose(random, 1, 3));
    drawn.group = one_of<int>(random, {1, 1, 2, 3, 4, 4, 5, 7, 8, 15, 60});
    drawn.head_dim = choose(random, 0, 1) == 0 ? static_cast<int>(choose(random, 1, 150))
                                               : one_of<int>(random, {32, 64, 80, 128});
    drawn.page_tokens = one_of<int>(random, {16, 32, 48, 128});
    drawn.team = static_cast<int>(choose(random, 1, 3));
    drawn.threads = static_cast<int>(choose(random, 1, 4));
    for (std::int64_t s = choose(random, 1, 4); s > 0; --s) {
      const std::int64_t length = choose(random, 0, 3) == 0 ? choose(random, 1, 400) : choose(random, 1, 70);
      drawn.lengths.push_back(length);
      drawn.queries.push_back(is_decode ? 1 : choose(random, 0, std::min<std::int64_t>(length, 40)));
    }
    drawn.q = one_of<xcpu_dtype>(random, {XCPU_F32, XCPU_BF16});
    drawn.out = one_of<xcpu_dtype>(random, {XCPU_F32, XCPU_BF16});
    drawn.gap = choose(random, 0, 3);
    drawn.options = ScoreOptions::draw(random, drawn.kv_heads * drawn.group, true);
    return drawn;
  }

  std::string text() const {
    std::string all = "kind " + std::to_string(kind) + " kv_heads " + std::to_string(kv_heads) + " group " +
                      std::to_string(group) + " head_dim " + std::to_string(head_dim) + " page_tokens " +
                      std::to_string(page_tokens) + " team " + std::to_string(team) + " threads " +
                      std::to_string(threads) + options.text() + " queries of lengths";
    for (std::size_t s = 0; s < queries.size(); ++s) {
      all += " " + std::to_string(queries[s]) + "/" + std::to_string(lengths[s]);
    }
    return all;
  }
};

std::vector<std::int64_t> starts_of(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> starts = {0};
  for (const std::int64_t count : counts) starts.push_back(starts.back() + count);
  return starts;
}

// The query as the kernel multiplies it.
std::vector<double> query_of(const Heads& q, std::int64_t token, std::int64_t head, int dim,
                             xcpu_cache_kind kind) {
  std::vector<double> query;
  for (int i = 0; i < dim; ++i) query.push_back(q.at(token, head, i));
  if (kind == XCPU_CACHE_BF16) {
    for (double& element : query) element = rounded_to(XCPU_BF16, element);
  }
  if (kind == XCPU_CACHE_INT8) {
    const Quantised found = quantised(query);
    for (std::size_t i = 0; i < query.size(); ++i) query[i] = found.steps[i] * found.scale;
  }
  return query;
}

double weight_loss(xcpu_cache_kind kind) { return kind == XCPU_CACHE_BF16 ? 0x1p-8 : 0; }

void expect_right(const PagedCase& drawn, Random& random) {
  SCOPED_TRACE(drawn.text());
  const FilledCache filled(random, drawn.kind, drawn.kv_heads, drawn.head_dim, drawn.page_tokens,
                           drawn.lengths);
  const std::vector<std::int64_t> starts = starts_of(drawn.queries);
  const std::int64_t tokens = starts.back();
  if (tokens == 0) return;
  const int q_heads = drawn.kv_heads * drawn.group;
  const Heads q(random, tokens, q_heads, drawn.head_dim, drawn.q, drawn.gap);
  HeadsResult out(tokens, q_heads, drawn.head_dim, drawn.out, drawn.gap);
  std::vector<float> lse(static_cast<std::size_t>(tokens * q_heads));
  xcpu_paged_attention_args args{};
  args.cache = filled.cache;
  args.sequences = static_cast<std::int64_t>(drawn.queries.size());
  args.q_starts = starts.data();
  args.lengths = drawn.lengths.data();
  args.block_table = filled.block_table.data();
  args.block_table_stride = filled.stride;
  args.q_heads = q_heads;
  args.threads = drawn.threads;
  args.scores = drawn.options.get();
  args.q = q.get();
  args.out = out.get();
  args.lse = lse.data();
  const Scratch scratch(xcpu_paged_attention_scratch(&args));
  Team team(drawn.team);
  ASSERT_STREQ(xcpu_paged_attention(&args, scratch.data(), team.get()), nullptr);
  out.expect_nothing_else_written();
  for (std::size_t s = 0; s < drawn.queries.size(); ++s) {
    for (std::int64_t query = 0; query < drawn.queries[s]; ++query) {
      const std::int64_t token = starts[s] + query;
      for (int head = 0; head < q_heads; ++head) {
        const int kv_head = head / drawn.group;
        const ReferenceRow row{query_of(q, token, head, drawn.head_dim, drawn.kind),
                               drawn.lengths[s] - drawn.queries[s] + query, head, drawn.lengths[s]};
        const ReferenceResult expected = reference(
            drawn.options, row, drawn.head_dim,
            [&](std::int64_t t, std::int64_t i) { return filled.keys[s]->at(t, kv_head, i); },
            [&](std::int64_t t, std::int64_t i) { return filled.values[s]->at(t, kv_head, i); },
            weight_loss(drawn.kind),
            [&](std::int64_t t) {
              return filled.value_scales[s][static_cast<std::size_t>(t * drawn.kv_heads + kv_head)];
            });
        for (int i = 0; i < drawn.head_dim; ++i) {
          const Bounded value = stored(drawn.out, expected.out[static_cast<std::size_t>(i)]);
          ASSERT_NEAR(out.at(token, head, i), value.value, value.error)
              << "sequence " << s << " query " << query << " head " << head << " element " << i;
        }
        ASSERT_NEAR(lse[static_cast<std::size_t>(token * q_heads + head)], expected.lse.value,
                    expected.lse.error);
      }
    }
  }
}

TEST_P(XcpuAttention, of_decoding_is_within_rounding_of_float64) {
  for (const xcpu_cache_kind kind : kKinds) {
    for (unsigned repeat = 0; repeat < (is_full_sweep() ? 600 : 50); ++repeat) {
      Random random(repeat);
      expect_right(PagedCase::draw(random, kind, true), random);
      if (HasFailure()) return;
    }
  }
}

TEST_P(XcpuAttention, of_many_queries_over_a_cache_is_within_rounding_of_float64) {
  for (const xcpu_cache_kind kind : kKinds) {
    for (unsigned repeat = 0; repeat < (is_full_sweep() ? 300 : 15); ++repeat) {
      Random random(repeat);
      PagedCase drawn = PagedCase::draw(random, kind, false);
      drawn.group = std::min(drawn.group, 8);
      drawn.options = ScoreOptions::draw(random, drawn.kv_heads * drawn.group, true);
      expect_right(drawn, random);
      if (HasFailure()) return;
    }
  }
}

// One long sequence of one kv head is split between its keys.
TEST_P(XcpuAttention, is_split_over_the_team) {
  for (const xcpu_cache_kind kind : kKinds) {
    for (const int threads : {2, 3, 7}) {
      for (const bool has_sinks : {false, true}) {
        Random random(static_cast<unsigned>(threads));
        PagedCase drawn{};
        drawn.kind = kind;
        drawn.kv_heads = 1;
        drawn.group = 4;
        drawn.head_dim = 64;
        drawn.page_tokens = 32;
        drawn.team = threads;
        drawn.threads = threads;
        drawn.queries = {1};
        drawn.lengths = {1500};
        drawn.options = ScoreOptions::draw(random, 4, true);
        drawn.options.sinks.clear();
        if (has_sinks) drawn.options.sinks = {3, -1, 0, 8};
        drawn.options.window = has_sinks ? 1000 : 0;
        expect_right(drawn, random);
      }
    }
  }
}

TEST_P(XcpuAttention, shares_what_there_is_evenly) {
  Random random(1);
  const FilledCache filled(random, XCPU_CACHE_BF16, 2, 32, 16, {1000, 200});
  const std::int64_t starts[] = {0, 1, 2};
  const std::int64_t lengths[] = {1000, 200};
  const Heads q(random, 2, 2, 32, XCPU_F32);
  xcpu_paged_attention_args args{};
  args.cache = filled.cache;
  args.sequences = 2;
  args.q_starts = starts;
  args.lengths = lengths;
  args.block_table = filled.block_table.data();
  args.block_table_stride = filled.stride;
  args.q_heads = 2;
  args.threads = 4;
  args.q = args.out = q.get();
  // Of 2 * 1,000 and 2 * 200 tokens the third of four threads begins after about 1,200.
  xcpu_attention_place place{};
  ASSERT_STREQ(xcpu_paged_attention_place(&args, 2, 4, &place), nullptr);
  EXPECT_EQ(place.sequence, 0);
  EXPECT_EQ(place.kv_head, 1);
  EXPECT_EQ(place.row, 0);
  EXPECT_EQ(place.token, 128);
  ASSERT_STREQ(xcpu_paged_attention_place(&args, 0, 4, &place), nullptr);
  EXPECT_EQ(place.sequence + place.kv_head + place.row + place.token, 0);
  ASSERT_STREQ(xcpu_paged_attention_place(&args, 4, 4, &place), nullptr);
  EXPECT_EQ(place.sequence, 2);
}

struct MemoryCase {
  int kv_heads, group, head_dim, team, threads;
  std::vector<std::int64_t> queries, keys;
  xcpu_dtype q, k, v, out;
  std::int64_t gap;
  bool are_heads_outside;
  ScoreOptions options;

  static MemoryCase draw(Random& random) {
    MemoryCase drawn{};
    drawn.kv_heads = static_cast<int>(choose(random, 1, 3));
    drawn.group = one_of<int>(random, {1, 1, 2, 3, 4, 7});
    drawn.head_dim = choose(random, 0, 1) == 0 ? static_cast<int>(choose(random, 1, 100))
                                               : one_of<int>(random, {32, 64, 128});
    drawn.team = static_cast<int>(choose(random, 1, 3));
    drawn.threads = static_cast<int>(choose(random, 1, 3));
    const bool are_as_long = choose(random, 0, 2) != 0;
    for (std::int64_t s = choose(random, 1, 4); s > 0; --s) {
      drawn.queries.push_back(choose(random, 0, 60));
      drawn.keys.push_back(are_as_long ? drawn.queries.back() : drawn.queries.back() + choose(random, 0, 50));
    }
    const bool is_one_dtype = choose(random, 0, 2) != 0;
    drawn.q = one_of<xcpu_dtype>(random, {XCPU_F32, XCPU_BF16});
    for (xcpu_dtype* dtype : {&drawn.k, &drawn.v, &drawn.out}) {
      *dtype = is_one_dtype ? drawn.q : one_of<xcpu_dtype>(random, {XCPU_F32, XCPU_BF16, XCPU_F16});
    }
    drawn.gap = choose(random, 0, 3);
    drawn.are_heads_outside = choose(random, 0, 1) == 1;
    drawn.options = ScoreOptions::draw(random, drawn.kv_heads * drawn.group, true);
    return drawn;
  }

  std::string text() const {
    std::string all = "kv_heads " + std::to_string(kv_heads) + " group " + std::to_string(group) +
                      " head_dim " + std::to_string(head_dim) + " team " + std::to_string(team) +
                      options.text() + " queries and keys";
    for (std::size_t s = 0; s < queries.size(); ++s) {
      all += " " + std::to_string(queries[s]) + "/" + std::to_string(keys[s]);
    }
    return all;
  }
};

void expect_right(const MemoryCase& drawn, Random& random) {
  SCOPED_TRACE(drawn.text());
  const std::vector<std::int64_t> q_starts = starts_of(drawn.queries);
  const std::vector<std::int64_t> k_starts = starts_of(drawn.keys);
  if (q_starts.back() == 0) return;
  const int q_heads = drawn.kv_heads * drawn.group;
  const bool outside = drawn.are_heads_outside;
  const Heads q(random, q_starts.back(), q_heads, drawn.head_dim, drawn.q, drawn.gap, 1, outside);
  const Heads k(random, k_starts.back(), drawn.kv_heads, drawn.head_dim, drawn.k, drawn.gap, 1, outside);
  const Heads v(random, k_starts.back(), drawn.kv_heads, drawn.head_dim, drawn.v, drawn.gap, 1, outside);
  HeadsResult out(q_starts.back(), q_heads, drawn.head_dim, drawn.out, drawn.gap);
  std::vector<float> lse(static_cast<std::size_t>(q_starts.back() * q_heads));
  xcpu_attention_args args{};
  args.sequences = static_cast<std::int64_t>(drawn.queries.size());
  args.q_starts = q_starts.data();
  args.k_starts = drawn.queries == drawn.keys ? nullptr : k_starts.data();
  args.q_heads = q_heads;
  args.kv_heads = drawn.kv_heads;
  args.head_dim = drawn.head_dim;
  args.threads = drawn.threads;
  args.scores = drawn.options.get();
  args.q = q.get();
  args.k = k.get();
  args.v = v.get();
  args.out = out.get();
  args.lse = lse.data();
  const Scratch scratch(xcpu_attention_scratch(&args));
  Team team(drawn.team);
  ASSERT_STREQ(xcpu_attention(&args, scratch.data(), team.get()), nullptr);
  out.expect_nothing_else_written();
  const xcpu_cache_kind kind =
      drawn.k == XCPU_BF16 && drawn.v == XCPU_BF16 ? XCPU_CACHE_BF16 : XCPU_CACHE_F32;
  for (std::size_t s = 0; s < drawn.queries.size(); ++s) {
    for (std::int64_t query = 0; query < drawn.queries[s]; ++query) {
      const std::int64_t token = q_starts[s] + query;
      for (int head = 0; head < q_heads; ++head) {
        const int kv_head = head / drawn.group;
        const ReferenceRow row{query_of(q, token, head, drawn.head_dim, kind),
                               drawn.keys[s] - drawn.queries[s] + query, head, drawn.keys[s]};
        const ReferenceResult expected = reference(
            drawn.options, row, drawn.head_dim,
            [&](std::int64_t t, std::int64_t i) { return k.at(k_starts[s] + t, kv_head, i); },
            [&](std::int64_t t, std::int64_t i) { return v.at(k_starts[s] + t, kv_head, i); },
            weight_loss(kind), [](std::int64_t) { return 0.0; });
        for (int i = 0; i < drawn.head_dim; ++i) {
          const Bounded value = stored(drawn.out, expected.out[static_cast<std::size_t>(i)]);
          ASSERT_NEAR(out.at(token, head, i), value.value, value.error)
              << "sequence " << s << " query " << query << " head " << head << " element " << i;
        }
        ASSERT_NEAR(lse[static_cast<std::size_t>(token * q_heads + head)], expected.lse.value,
                    expected.lse.error);
      }
    }
  }
}

TEST_P(XcpuAttention, of_sequences_in_memory_is_within_rounding_of_float64) {
  for (unsigned repeat = 0; repeat < (is_full_sweep() ? 500 : 30); ++repeat) {
    Random random(repeat);
    expect_right(MemoryCase::draw(random), random);
    if (HasFailure()) return;
  }
}

// One token's key or value, of those that the query sees; those of tiles that it does not see do not matter.
TEST_P(XcpuAttention, lets_be_seen_what_is_not_a_number) {
  for (const xcpu_cache_kind kind : kKinds) {
    for (const bool is_key : {true, false}) {
      for (const std::int64_t token : {5, 33}) {
        Random random(1);
        const FilledCache filled(random, kind, 1, 32, 16, {40});
        const std::vector<std::int64_t> slots = filled.slots(0, 40);
        Heads vector(random, 1, 1, 32, XCPU_F32);
        const Heads other(random, 1, 1, 32, XCPU_F32);
        vector.set(0, 0, 7, NAN);
        const xcpu_cache_args write{filled.cache, 1, &slots[static_cast<std::size_t>(token)],
                                    (is_key ? vector : other).get(), (is_key ? other : vector).get()};
        ASSERT_STREQ(xcpu_cache_write(&write, nullptr), nullptr);
        const std::int64_t starts[] = {0, 1};
        const std::int64_t length = 40;
        const Heads q(random, 1, 2, 32, XCPU_F32);
        HeadsResult out(1, 2, 32, XCPU_F32);
        xcpu_paged_attention_args args{};
        args.cache = filled.cache;
        args.sequences = 1;
        args.q_starts = starts;
        args.lengths = &length;
        args.block_table = filled.block_table.data();
        args.block_table_stride = filled.stride;
        args.q_heads = 2;
        args.threads = 1;
        args.scores.causal = 1;
        args.scores.window = 20;  // from token 20 on
        args.q = q.get();
        args.out = out.get();
        const Scratch scratch(xcpu_paged_attention_scratch(&args));
        ASSERT_STREQ(xcpu_paged_attention(&args, scratch.data(), nullptr), nullptr);
        EXPECT_EQ(std::isnan(out.at(0, 1, 7)), token == 33) << "kind " << kind << " key " << is_key;
      }
    }
  }
}

TEST_P(XcpuAttention, of_a_query_that_sees_nothing_is_zero) {
  Random random(1);
  const std::int64_t q_starts[] = {0, 4};
  const std::int64_t k_starts[] = {0, 2};
  const Heads q(random, 4, 1, 16, XCPU_F32);
  const Heads k(random, 2, 1, 16, XCPU_F32);
  HeadsResult out(4, 1, 16, XCPU_F32);
  std::vector<float> lse(4);
  xcpu_attention_args args{};
  args.sequences = 1;
  args.q_starts = q_starts;
  args.k_starts = k_starts;
  args.q_heads = args.kv_heads = args.threads = 1;
  args.head_dim = 16;
  args.scores.causal = 1;
  args.q = q.get();
  args.k = args.v = k.get();
  args.out = out.get();
  args.lse = lse.data();
  const Scratch scratch(xcpu_attention_scratch(&args));
  ASSERT_STREQ(xcpu_attention(&args, scratch.data(), nullptr), nullptr);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(out.at(1, 0, i), 0);
    EXPECT_NEAR(out.at(2, 0, i), k.at(0, 0, i), 1e-6);
  }
  EXPECT_EQ(lse[1], -INFINITY);
}

TEST(XcpuAttentionArguments, are_refused_by_name) {
  std::vector<float> data(1024);
  const std::int64_t starts[] = {0, 1};
  const std::int64_t lengths[] = {17};
  const std::int64_t table[] = {0, 9};
  xcpu_paged_attention_args args{};
  args.cache = {data.data(), XCPU_CACHE_F32, 2, 4, 16, 2};
  args.sequences = 1;
  args.threads = 1;
  args.q_heads = 3;
  EXPECT_STREQ(xcpu_paged_attention(&args, nullptr, nullptr),
               "q_heads is 3, which is no multiple of kv_heads, 2");
  args.q_heads = 4;
  EXPECT_STREQ(xcpu_paged_attention(&args, nullptr, nullptr), "q_starts is NULL");
  args.q_starts = starts;
  EXPECT_STREQ(xcpu_paged_attention(&args, nullptr, nullptr), "q.data is NULL");
  args.q = args.out = {data.data(), XCPU_F32, 16, 4};
  args.lengths = lengths;
  args.block_table = table;
  args.block_table_stride = 2;
  EXPECT_STREQ(xcpu_paged_attention(&args, nullptr, nullptr),
               "block_table[0][1] is 9; the cache has 2 pages");
  args.threads = 0;
  EXPECT_STREQ(xcpu_paged_attention(&args, nullptr, nullptr), "threads is 0; it is 1 to 4096");
}

}  // namespace
}  // namespace xcpu_test
