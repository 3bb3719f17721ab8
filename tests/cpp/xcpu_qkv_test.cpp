// Queries, keys and values at once are what linear, rotary embedding and writing to the cache give one by
// one.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "xcpu_attention.h"

namespace xcpu_test {
namespace {

struct QkvCase {
  Form form;
  xcpu_cache_kind kind;
  std::int64_t tokens, inputs;
  int q_heads, kv_heads, head_dim, rotary_dim, team;
  xcpu_rotary_form rotary;
  bool has_weight;
};

void expect_right(const QkvCase& drawn, Random& random) {
  SCOPED_TRACE(drawn.form.name + " kind " + std::to_string(drawn.kind) + " tokens " +
               std::to_string(drawn.tokens) + " head_dim " + std::to_string(drawn.head_dim) + " rotary_dim " +
               std::to_string(drawn.rotary_dim) + " weight " + std::to_string(drawn.has_weight));
  const int heads = drawn.q_heads + 2 * drawn.kv_heads;
  const std::int64_t outputs = heads * drawn.head_dim;
  const Rows x(random, drawn.tokens, drawn.inputs, drawn.inputs, XCPU_BF16);
  const PackedWeight weight(random, drawn.form, outputs, drawn.inputs, 0);
  // In fp32, so that what is turned is the same here and there.
  const Rows products(random, drawn.tokens, outputs, outputs + 2, XCPU_F32);
  const Rows cos(random, 50, std::max(drawn.rotary_dim / 2, 1), drawn.rotary_dim / 2 + 1, XCPU_F32);
  const Rows sin(random, 50, std::max(drawn.rotary_dim / 2, 1), drawn.rotary_dim / 2 + 1, XCPU_F32);
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> slots;
  for (std::int64_t t = 0; t < drawn.tokens; ++t) {
    positions.push_back(choose(random, 0, 49));
    slots.push_back(t == 1 ? -1 : 5 + t);
  }
  xcpu_linear_args linear{};
  linear.rows = drawn.tokens;
  linear.x = x.get();
  linear.weight = weight.packed;
  linear.precision = drawn.form.precision;
  linear.out = products.get();
  if (drawn.has_weight) {
    const Scratch scratch(xcpu_linear_scratch(&linear));
    ASSERT_STREQ(xcpu_linear(&linear, scratch.data(), nullptr), nullptr);
  }

  const xcpu_cache shape{nullptr, drawn.kind, drawn.kv_heads, drawn.head_dim, 16, 5};
  const auto bytes = static_cast<std::size_t>(xcpu_cache_bytes(&shape));
  const Guarded expected_memory(bytes);
  const Guarded found_memory(bytes);
  std::memset(expected_memory.data(), 0x11, bytes);
  std::memset(found_memory.data(), 0x11, bytes);
  const Heads q_expected(random, drawn.tokens, drawn.q_heads, drawn.head_dim, XCPU_BF16);
  HeadsResult q_found(drawn.tokens, drawn.q_heads, drawn.head_dim, XCPU_BF16, 4);
  const xcpu_rotary rotary{drawn.rotary, drawn.rotary_dim, 0, 50, cos.get(), sin.get(), positions.data()};

  xcpu_qkv_args args{};
  args.linear = linear;
  args.linear.out = {nullptr, XCPU_F32, 0};
  if (!drawn.has_weight) {
    args.linear.weight.data = nullptr;
    args.linear.x = products.get();
  }
  args.rotary = rotary;
  args.q_heads = drawn.q_heads;
  args.cache = shape;
  args.cache.data = found_memory.data();
  args.slots = slots.data();
  args.q = q_found.get();
  Team team(drawn.team);
  const Scratch scratch(xcpu_qkv_scratch(&args));
  ASSERT_STREQ(xcpu_qkv(&args, scratch.data(), team.get()), nullptr);
  q_found.expect_nothing_else_written();

  // One by one: rotary of queries and, in fp32 in place, of keys; then the cache.
  auto* data = static_cast<float*>(products.get().data);
  const std::int64_t stride = products.get().stride;
  const xcpu_heads q{data, XCPU_F32, stride, drawn.head_dim};
  const xcpu_heads k{data + drawn.q_heads * drawn.head_dim, XCPU_F32, stride, drawn.head_dim};
  const xcpu_heads v{data + (drawn.q_heads + drawn.kv_heads) * drawn.head_dim, XCPU_F32, stride,
                     drawn.head_dim};
  const xcpu_rotary_args turned{
      rotary, drawn.tokens, drawn.head_dim, drawn.q_heads, drawn.kv_heads, q, k, q_expected.get(), k};
  ASSERT_STREQ(xcpu_rotate(&turned, nullptr), nullptr);
  xcpu_cache_args written{shape, drawn.tokens, slots.data(), k, v};
  written.cache.data = expected_memory.data();
  ASSERT_STREQ(xcpu_cache_write(&written, nullptr), nullptr);
  ASSERT_EQ(std::memcmp(expected_memory.data(), found_memory.data(), bytes), 0);
  for (std::int64_t t = 0; t < drawn.tokens; ++t) {
    for (int head = 0; head < drawn.q_heads; ++head) {
      for (int i = 0; i < drawn.head_dim; ++i) {
        ASSERT_EQ(q_found.at(t, head, i), q_expected.at(t, head, i)) << t << " " << head << " " << i;
      }
    }
  }
}

class XcpuQkv : public OfEachIsa {};
INSTANTIATE_TEST_SUITE_P(All, XcpuQkv, testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

TEST_P(XcpuQkv, is_what_its_parts_are_one_after_the_other) {
  for (const Form& form : kForms) {
    for (unsigned repeat = 0; repeat < (is_full_sweep() ? 60 : 8); ++repeat) {
      Random random(repeat);
      QkvCase drawn{};
      drawn.form = form;
      drawn.kind = one_of<xcpu_cache_kind>(random, {XCPU_CACHE_F32, XCPU_CACHE_BF16, XCPU_CACHE_INT8});
      drawn.tokens = choose(random, 1, 40);
      drawn.inputs = form.group != 0 ? form.group : choose(random, 1, 70);
      drawn.q_heads = static_cast<int>(choose(random, 1, 5));
      drawn.kv_heads = static_cast<int>(choose(random, 1, 3));
      drawn.head_dim = static_cast<int>(choose(random, 1, 70));
      drawn.rotary_dim = 2 * static_cast<int>(choose(random, 0, drawn.head_dim / 2));
      drawn.team = static_cast<int>(choose(random, 1, 3));
      drawn.rotary = static_cast<xcpu_rotary_form>(choose(random, 0, 1));
      drawn.has_weight = choose(random, 0, 3) != 0;
      expect_right(drawn, random);
      if (HasFailure()) return;
    }
  }
}

TEST(XcpuQkvArguments, are_refused_by_name) {
  Random random(1);
  const Product product(random, kForms[0], 2, 9, 8);
  xcpu_qkv_args args{};
  args.linear = product.args;
  args.q_heads = 2;
  args.cache = {nullptr, XCPU_CACHE_BF16, 1, 2, 16, 1};
  EXPECT_STREQ(xcpu_qkv(&args, nullptr, nullptr),
               "linear.weight.n is 9; queries, keys and values have 8 elements");
  args.linear.weight.n = 8;
  EXPECT_STREQ(xcpu_qkv(&args, nullptr, nullptr), "cache.data is NULL");
}

}  // namespace
}  // namespace xcpu_test
