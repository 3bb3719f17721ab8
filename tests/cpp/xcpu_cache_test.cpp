// The paged cache: what is written to it is what is read, and nothing else changes.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "xcpu_attention.h"

namespace xcpu_test {
namespace {

const std::vector<xcpu_cache_kind> kKinds = {XCPU_CACHE_F32, XCPU_CACHE_BF16, XCPU_CACHE_INT8};

class XcpuCache : public OfEachIsa {};
INSTANTIATE_TEST_SUITE_P(All, XcpuCache, testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

std::vector<double> vector_of(const Heads& heads, std::int64_t token, std::int64_t head, int dim) {
  std::vector<double> values;
  for (int i = 0; i < dim; ++i) values.push_back(heads.at(token, head, i));
  return values;
}

// A vector as a cache keeps it.
std::vector<double> kept(xcpu_cache_kind kind, std::vector<double> values) {
  if (kind == XCPU_CACHE_F32) return values;
  if (kind == XCPU_CACHE_BF16) {
    for (double& value : values) value = rounded_to(XCPU_BF16, value);
    return values;
  }
  const Quantised found = quantised(values);
  std::vector<double> result;
  for (const double step : found.steps) result.push_back(step * found.scale);
  return result;
}

struct CacheCase {
  xcpu_cache_kind kind;
  int kv_heads, head_dim, page_tokens, team;
  std::int64_t tokens;
  xcpu_dtype dtype;
};

void expect_kept(const CacheCase& drawn, Random& random) {
  SCOPED_TRACE("kind " + std::to_string(drawn.kind) + " head_dim " + std::to_string(drawn.head_dim) +
               " tokens " + std::to_string(drawn.tokens));
  xcpu_cache cache{nullptr, drawn.kind, drawn.kv_heads, drawn.head_dim, drawn.page_tokens, 0};
  cache.pages = drawn.tokens / drawn.page_tokens + 2;
  const std::int64_t all = cache.pages * cache.page_tokens;
  const auto bytes = static_cast<std::size_t>(xcpu_cache_bytes(&cache));
  const Guarded memory(bytes);
  std::memset(memory.data(), 0x3B, bytes);
  cache.data = memory.data();
  std::vector<std::int64_t> slots(static_cast<std::size_t>(all));
  std::iota(slots.begin(), slots.end(), 0);
  std::shuffle(slots.begin(), slots.end(), random);
  const std::vector<std::int64_t> others(slots.begin() + drawn.tokens, slots.end());
  slots.resize(static_cast<std::size_t>(drawn.tokens));
  const std::size_t left_out = drawn.tokens > 2 ? 1 : slots.size();
  if (left_out < slots.size()) slots[left_out] = -1;

  const Heads k(random, drawn.tokens, drawn.kv_heads, drawn.head_dim, drawn.dtype, 3);
  const Heads v(random, drawn.tokens, drawn.kv_heads, drawn.head_dim, drawn.dtype, 1, 1, true);
  const xcpu_cache_args args{cache, drawn.tokens, slots.data(), k.get(), v.get()};
  Team team(drawn.team);
  ASSERT_STREQ(xcpu_cache_write(&args, team.get()), nullptr);

  HeadsResult k_read(drawn.tokens, drawn.kv_heads, drawn.head_dim, XCPU_F32, 2);
  HeadsResult v_read(drawn.tokens, drawn.kv_heads, drawn.head_dim, XCPU_F32, 2);
  const xcpu_cache_args read{cache, drawn.tokens, slots.data(), k_read.get(), v_read.get()};
  ASSERT_STREQ(xcpu_cache_read(&read, team.get()), nullptr);
  k_read.expect_nothing_else_written();
  for (std::int64_t t = 0; t < drawn.tokens; ++t) {
    if (static_cast<std::size_t>(t) == left_out) continue;
    for (int head = 0; head < drawn.kv_heads; ++head) {
      const std::vector<double> key = kept(drawn.kind, vector_of(k, t, head, drawn.head_dim));
      const std::vector<double> value = kept(drawn.kind, vector_of(v, t, head, drawn.head_dim));
      for (int i = 0; i < drawn.head_dim; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_NEAR(k_read.at(t, head, i), key[at], 2e-7 * std::fabs(key[at]))
            << t << " " << head << " " << i;
        ASSERT_NEAR(v_read.at(t, head, i), value[at], 2e-7 * std::fabs(value[at])) << t << " " << i;
      }
    }
  }

  // Slots that were not written have what was there.
  const auto count = static_cast<std::int64_t>(others.size());
  const Heads k_rest(random, count, drawn.kv_heads, drawn.head_dim, XCPU_F32);
  const Heads v_rest(random, count, drawn.kv_heads, drawn.head_dim, XCPU_F32);
  const xcpu_cache_args rest{cache, count, others.data(), k_rest.get(), v_rest.get()};
  ASSERT_STREQ(xcpu_cache_read(&rest, nullptr), nullptr);
  float scale = 0;
  std::memset(&scale, 0x3B, 4);
  const float half = static_cast<float>(read_element("\x3B\x3B\x3B\x3B", XCPU_BF16, 0));
  const double key = drawn.kind == XCPU_CACHE_F32    ? scale
                     : drawn.kind == XCPU_CACHE_BF16 ? half
                                                     : (0x3B - 128) * scale;
  const double value = drawn.kind == XCPU_CACHE_INT8 ? 0x3B * scale : key;
  for (std::int64_t t = 0; t < count; ++t) {
    for (int i = 0; i < drawn.head_dim; ++i) {
      ASSERT_FLOAT_EQ(static_cast<float>(k_rest.at(t, 0, i)), static_cast<float>(key));
      ASSERT_FLOAT_EQ(static_cast<float>(v_rest.at(t, 0, i)), static_cast<float>(value));
    }
  }
}

TEST_P(XcpuCache, keeps_what_is_written_and_nothing_else_changes) {
  for (const xcpu_cache_kind kind : kKinds) {
    for (int head_dim = 1; head_dim <= 140; head_dim += is_full_sweep() ? 1 : 7) {
      Random random(static_cast<unsigned>(head_dim));
      CacheCase drawn{};
      drawn.kind = kind;
      drawn.kv_heads = static_cast<int>(choose(random, 1, 3));
      drawn.head_dim = head_dim;
      drawn.page_tokens = one_of<int>(random, {16, 32, 48});
      drawn.tokens = choose(random, 1, 50);
      drawn.team = static_cast<int>(choose(random, 1, 3));
      drawn.dtype = one_of<xcpu_dtype>(random, {XCPU_F32, XCPU_BF16, XCPU_F16});
      expect_kept(drawn, random);
      if (HasFailure()) return;
    }
    Random random(1);
    expect_kept({kind, 3, 128, 64, 3, 130, XCPU_BF16}, random);  // enough for a team
  }
}

TEST(XcpuCacheArguments, are_refused_by_name) {
  xcpu_cache_args args{};
  args.cache = {nullptr, XCPU_CACHE_BF16, 2, 64, 24, 1};
  EXPECT_STREQ(xcpu_cache_write(&args, nullptr), "cache.page_tokens is 24; it is a multiple of 16");
  EXPECT_EQ(xcpu_cache_bytes(&args.cache), 0);
  args.cache.page_tokens = 32;
  EXPECT_EQ(xcpu_cache_bytes(&args.cache), 2 * 32 * 64 * 2 * 2);
  std::int64_t sizes[4] = {};
  EXPECT_EQ(xcpu_cache_sizes(&args.cache, sizes), nullptr);
  EXPECT_EQ(std::vector<std::int64_t>(sizes, sizes + 4), (std::vector<std::int64_t>{1, 2, 32, 128}));
  args.cache.kind = XCPU_CACHE_INT8;
  EXPECT_EQ(xcpu_cache_sizes(&args.cache, sizes), nullptr);
  EXPECT_EQ(sizes[3], 136);
  std::vector<float> data(256);
  const std::int64_t slots[2] = {0, 32};
  args.tokens = 2;
  args.k = args.v = {data.data(), XCPU_F32, 128, 64};
  EXPECT_STREQ(xcpu_cache_write(&args, nullptr), "cache.data is NULL");
  args.cache.data = data.data();
  args.slots = slots;
  EXPECT_STREQ(xcpu_cache_write(&args, nullptr), "slots[1] is 32; the cache has 32 slots");
}

}  // namespace
}  // namespace xcpu_test
