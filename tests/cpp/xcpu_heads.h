#pragma once
// Vectors of heads in memory for tests of xcpu: random ones, whose memory ends at a page that may not be
// touched, and results, around which nothing else may be written.

#include <vector>

#include "xcpu_linear.h"

namespace xcpu_test {

inline std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const char* const* name = xcpu_isas(); *name != nullptr; ++name) names.emplace_back(*name);
  return names;
}

// A test for each instruction set.
class OfEachIsa : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_EQ(xcpu_use_isa(GetParam().c_str()), nullptr); }
  void TearDown() override { xcpu_use_isa(nullptr); }
};

inline xcpu_rows if_given(bool is_given, const xcpu_rows& rows) { return is_given ? rows : xcpu_rows{}; }

// Each token is a row, in which the heads lie with gaps, or each head is as many rows as there are tokens.
class Heads {
 public:
  Heads(Random& random, std::int64_t tokens, std::int64_t heads, std::int64_t dim, xcpu_dtype dtype,
        std::int64_t gap = 0, double scale = 1, bool are_heads_outside = false)
      : inner_(dim + gap),
        outer_(inner_ * (are_heads_outside ? tokens : heads) + gap),
        are_heads_outside_(are_heads_outside),
        rows_(random, are_heads_outside ? heads : tokens,
              inner_ * ((are_heads_outside ? tokens : heads) - 1) + dim, outer_, dtype, scale) {}

  double at(std::int64_t token, std::int64_t head, std::int64_t i) const {
    return are_heads_outside_ ? rows_.at(head, token * inner_ + i) : rows_.at(token, head * inner_ + i);
  }
  void set(std::int64_t token, std::int64_t head, std::int64_t i, double value) {
    are_heads_outside_ ? rows_.set(head, token * inner_ + i, value)
                       : rows_.set(token, head * inner_ + i, value);
  }
  xcpu_heads get() const {
    const xcpu_rows rows = rows_.get();
    return are_heads_outside_ ? xcpu_heads{rows.data, rows.dtype, inner_, outer_}
                              : xcpu_heads{rows.data, rows.dtype, outer_, inner_};
  }

 private:
  std::int64_t inner_, outer_;
  bool are_heads_outside_;
  Rows rows_;
};

// Results of tokens, whose heads lie one after the other.
class HeadsResult {
 public:
  HeadsResult(std::int64_t tokens, std::int64_t heads, std::int64_t dim, xcpu_dtype dtype,
              std::int64_t gap = 0)
      : dim_(dim), result_(tokens, heads * dim, heads * dim + gap, dtype) {}

  double at(std::int64_t token, std::int64_t head, std::int64_t i) const {
    return result_.at(token, head * dim_ + i);
  }
  xcpu_heads get() {
    const xcpu_rows rows = result_.get();
    return {rows.data, rows.dtype, rows.stride, dim_};
  }
  void expect_nothing_else_written() const { result_.expect_nothing_else_written(); }

 private:
  std::int64_t dim_;
  Result result_;
};

}  // namespace xcpu_test
