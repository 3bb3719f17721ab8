// Rotary embedding against float64.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "xcpu_heads.h"

namespace xcpu_test {
namespace {

const std::vector<xcpu_dtype> kDtypes = {XCPU_F32, XCPU_BF16, XCPU_F16};

struct RotaryCase {
  xcpu_rotary_form form;
  std::int64_t tokens, table_rows, gap;
  int head_dim, rotary_dim, q_heads, k_heads, inverse, team;
  bool has_q, has_k, has_positions, are_heads_outside;
  xcpu_dtype q, k, q_out, k_out, cos, sin;

  static RotaryCase draw(Random& random, xcpu_rotary_form form, int head_dim) {
    RotaryCase drawn{};
    drawn.form = form;
    drawn.tokens = choose(random, 1, 6);
    drawn.table_rows = drawn.tokens + choose(random, 0, 9);
    drawn.gap = choose(random, 0, 4);
    drawn.head_dim = head_dim;
    drawn.rotary_dim =
        choose(random, 0, 1) == 0 ? head_dim / 2 * 2 : 2 * static_cast<int>(choose(random, 0, head_dim / 2));
    drawn.q_heads = static_cast<int>(choose(random, 1, 5));
    drawn.k_heads = static_cast<int>(choose(random, 1, 3));
    drawn.inverse = static_cast<int>(choose(random, 0, 1));
    drawn.team = static_cast<int>(choose(random, 1, 3));
    for (bool* has : {&drawn.has_q, &drawn.has_k, &drawn.has_positions}) *has = choose(random, 0, 3) != 0;
    drawn.are_heads_outside = choose(random, 0, 1) == 1;
    const bool is_one_dtype = choose(random, 0, 1) == 0;
    drawn.q = one_of(random, kDtypes);
    for (xcpu_dtype* dtype : {&drawn.k, &drawn.q_out, &drawn.k_out, &drawn.cos, &drawn.sin}) {
      *dtype = is_one_dtype ? drawn.q : one_of(random, kDtypes);
    }
    return drawn;
  }

  std::string text() const {
    return "form " + std::to_string(form) + " tokens " + std::to_string(tokens) + " head_dim " +
           std::to_string(head_dim) + " rotary_dim " + std::to_string(rotary_dim) + " heads " +
           std::to_string(q_heads) + " " + std::to_string(k_heads) + " inverse " + std::to_string(inverse);
  }
};

struct RotaryOperands {
  Heads q, k;
  Rows cos, sin;
  std::vector<std::int64_t> positions;

  RotaryOperands(Random& random, const RotaryCase& drawn)
      : q(random, drawn.tokens, drawn.q_heads, drawn.head_dim, drawn.q, drawn.gap, 1,
          drawn.are_heads_outside),
        k(random, drawn.tokens, drawn.k_heads, drawn.head_dim, drawn.k, drawn.gap, 1,
          drawn.are_heads_outside),
        cos(random, drawn.table_rows, std::max(drawn.rotary_dim / 2, 1), drawn.rotary_dim / 2 + 1 + drawn.gap,
            drawn.cos),
        sin(random, drawn.table_rows, std::max(drawn.rotary_dim / 2, 1), drawn.rotary_dim / 2 + 1,
            drawn.sin) {
    for (std::int64_t token = 0; token < drawn.tokens; ++token) {
      positions.push_back(choose(random, 0, drawn.table_rows - 1));
    }
  }

  xcpu_rotary_args args(const RotaryCase& drawn) const {
    xcpu_rotary_args made{};
    made.rotary = {drawn.form,
                   drawn.rotary_dim,
                   drawn.inverse,
                   drawn.table_rows,
                   cos.get(),
                   sin.get(),
                   drawn.has_positions ? positions.data() : nullptr};
    made.tokens = drawn.tokens;
    made.head_dim = drawn.head_dim;
    made.q_heads = drawn.q_heads;
    made.k_heads = drawn.k_heads;
    if (drawn.has_q) made.q = q.get();
    if (drawn.has_k) made.k = k.get();
    return made;
  }

  // Of element i of a vector whose elements are given by `at`.
  template <class At>
  Bounded expected(const RotaryCase& drawn, std::int64_t token, int i, At at) const {
    if (i >= drawn.rotary_dim) return {at(i), 0};
    const std::int64_t position = drawn.has_positions ? positions[static_cast<std::size_t>(token)] : token;
    const bool is_halves = drawn.form == XCPU_ROTARY_HALVES;
    const int half = drawn.rotary_dim / 2;
    const int pair = is_halves ? i % half : i / 2;
    const bool is_first = is_halves ? i < half : i % 2 == 0;
    const int other = is_halves ? (is_first ? i + half : i - half) : i ^ 1;
    const double sine = sin.at(position, pair) * (drawn.inverse != 0 ? -1 : 1);
    const double a = at(i) * cos.at(position, pair);
    const double b = at(other) * sine * (is_first ? -1 : 1);
    return {a + b, 3e-7 * (std::fabs(a) + std::fabs(b))};
  }
};

void expect_right(const RotaryCase& drawn, Random& random) {
  SCOPED_TRACE(drawn.text());
  const RotaryOperands operands(random, drawn);
  HeadsResult q_out(drawn.tokens, drawn.q_heads, drawn.head_dim, drawn.q_out, drawn.gap);
  HeadsResult k_out(drawn.tokens, drawn.k_heads, drawn.head_dim, drawn.k_out, drawn.gap);
  xcpu_rotary_args args = operands.args(drawn);
  args.q_out = q_out.get();
  args.k_out = k_out.get();
  Team team(drawn.team);
  ASSERT_STREQ(xcpu_rotate(&args, team.get()), nullptr);
  q_out.expect_nothing_else_written();
  k_out.expect_nothing_else_written();
  const auto compare = [&](const Heads& from, const HeadsResult& to, int heads, xcpu_dtype dtype) {
    for (std::int64_t token = 0; token < drawn.tokens; ++token) {
      for (int head = 0; head < heads; ++head) {
        for (int i = 0; i < drawn.head_dim; ++i) {
          const Bounded expected = stored(
              dtype, operands.expected(drawn, token, i, [&](int at) { return from.at(token, head, at); }));
          ASSERT_NEAR(to.at(token, head, i), expected.value, expected.error)
              << "token " << token << " head " << head << " element " << i;
        }
      }
    }
  };
  if (drawn.has_q) compare(operands.q, q_out, drawn.q_heads, drawn.q_out);
  if (drawn.has_k) compare(operands.k, k_out, drawn.k_heads, drawn.k_out);
}

class XcpuRotary : public OfEachIsa {};
INSTANTIATE_TEST_SUITE_P(All, XcpuRotary, testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

TEST_P(XcpuRotary, is_within_rounding_of_float64_for_any_head_dim) {
  for (const xcpu_rotary_form form : {XCPU_ROTARY_HALVES, XCPU_ROTARY_INTERLEAVED}) {
    for (int head_dim = 1; head_dim <= 260; head_dim += is_full_sweep() ? 1 : 3) {
      for (unsigned repeat = 0; repeat < (is_full_sweep() ? 10 : 1); ++repeat) {
        Random random(static_cast<unsigned>(head_dim) + repeat * 1000);
        expect_right(RotaryCase::draw(random, form, head_dim), random);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(XcpuRotary, has_many_tokens_for_every_team) {
  for (const int team : {1, 2, 3}) {
    Random random(static_cast<unsigned>(team));
    RotaryCase drawn = RotaryCase::draw(random, XCPU_ROTARY_HALVES, 64);
    drawn.tokens = 101;
    drawn.table_rows = 200;
    drawn.q_heads = 5;
    drawn.team = team;
    expect_right(drawn, random);
  }
}

TEST_P(XcpuRotary, turns_in_place_as_out_of_place) {
  for (const xcpu_rotary_form form : {XCPU_ROTARY_HALVES, XCPU_ROTARY_INTERLEAVED}) {
    for (const int head_dim : {8, 70, 128}) {
      Random random(static_cast<unsigned>(head_dim));
      RotaryCase drawn = RotaryCase::draw(random, form, head_dim);
      drawn.has_q = drawn.has_k = true;
      drawn.q_out = drawn.q;
      drawn.k_out = drawn.k;
      const RotaryOperands operands(random, drawn);
      HeadsResult q_out(drawn.tokens, drawn.q_heads, head_dim, drawn.q);
      HeadsResult k_out(drawn.tokens, drawn.k_heads, head_dim, drawn.k);
      xcpu_rotary_args args = operands.args(drawn);
      args.q_out = q_out.get();
      args.k_out = k_out.get();
      ASSERT_STREQ(xcpu_rotate(&args, nullptr), nullptr);
      args.q_out = args.q;
      args.k_out = args.k;
      ASSERT_STREQ(xcpu_rotate(&args, nullptr), nullptr);
      for (std::int64_t token = 0; token < drawn.tokens; ++token) {
        for (int i = 0; i < head_dim; ++i) {
          ASSERT_EQ(operands.q.at(token, 0, i), q_out.at(token, 0, i));
          ASSERT_EQ(operands.k.at(token, 0, i), k_out.at(token, 0, i));
        }
      }
    }
  }
}

TEST(XcpuRotaryArguments, are_refused_by_name) {
  float data[64] = {};
  std::int64_t positions[2] = {0, 4};
  xcpu_rotary_args args{};
  args.tokens = 2;
  args.head_dim = 8;
  args.q_heads = 1;
  args.q = args.q_out = {data, XCPU_F32, 8, 8};
  args.rotary = {XCPU_ROTARY_HALVES, 8, 0, 4, {data, XCPU_F32, 4}, {data, XCPU_F32, 4}, positions};
  EXPECT_STREQ(xcpu_rotate(&args, nullptr), "rotary.positions[1] is 4; cos and sin have 4 rows");
  args.rotary.rotary_dim = 10;
  EXPECT_STREQ(xcpu_rotate(&args, nullptr), "rotary.rotary_dim is 10; it is even and at most head_dim, 8");
  args.q_out.data = nullptr;
  EXPECT_STREQ(xcpu_rotate(&args, nullptr), "q_out.data is NULL");
}

}  // namespace
}  // namespace xcpu_test
