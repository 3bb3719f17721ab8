// Two linears in one region of the team.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "xcpu_linear.h"

namespace xcpu_test {
namespace {

struct Mlp {
  LinearCase up_case, down_case;
  Operands up, down;

  static LinearCase up_of(Random& random, const Form& form, std::int64_t rows) {
    LinearCase drawn = LinearCase::draw(random, form, rows);
    drawn.n = 128;  // so that any form can have it as inputs
    drawn.has_mul = drawn.has_residual = false;
    drawn.out = XCPU_F32;
    return drawn;
  }
  static LinearCase down_of(Random& random, const Form& form, std::int64_t rows) {
    LinearCase drawn = LinearCase::draw(random, form, rows);
    drawn.k = 128;
    drawn.x = XCPU_F32;
    drawn.gap = 0;
    return drawn;
  }

  Mlp(Random& random, const Form& first, const Form& second, std::int64_t rows)
      : up_case(up_of(random, first, rows)),
        down_case(down_of(random, second, rows)),
        up(random, up_case),
        down(random, down_case) {}

  // Each linear by itself, the first into memory of ours.
  Rows one_after_the_other(Random& random, xcpu_dtype between) const {
    const Rows hidden(random, up_case.rows, up_case.n, up_case.n, between);
    Rows out(random, down_case.rows, down_case.n, down_case.n, XCPU_F32);
    call(up.args(up_case, hidden.get()));
    xcpu_linear_args args = down.args(down_case, out.get());
    args.x = hidden.get();
    call(args);
    return out;
  }

  static void call(const xcpu_linear_args& args) {
    const Scratch scratch(xcpu_linear_scratch(&args));
    ASSERT_STREQ(xcpu_linear(&args, scratch.data(), nullptr), nullptr);
  }

  Rows together(Random& random, xcpu_dtype between, const xcpu_team* team) const {
    Rows out(random, down_case.rows, down_case.n, down_case.n, XCPU_F32);
    const xcpu_mlp_args args{up.args(up_case, {nullptr, between, 0}), down.args(down_case, out.get())};
    const Scratch scratch(xcpu_mlp_scratch(&args));
    EXPECT_STREQ(xcpu_mlp(&args, scratch.data(), team), nullptr);
    return out;
  }
};

// To the bit: the same kernels, with a barrier in between.
TEST(XcpuMlp, is_what_its_linears_are_one_after_the_other) {
  for (const char* const* isa = xcpu_isas(); *isa != nullptr; ++isa) {
    ASSERT_EQ(xcpu_use_isa(*isa), nullptr);
    for (const Form& first : kForms) {
      for (const std::int64_t rows : {1, 3, 20}) {
        for (const int size : {1, 2, 3}) {
          Random random(static_cast<unsigned>(rows * 10 + size));
          const Form& second = one_of(random, kForms);
          const xcpu_dtype between = one_of<xcpu_dtype>(random, {XCPU_F32, XCPU_BF16});
          SCOPED_TRACE(std::string(*isa) + " " + first.name + " " + second.name + " rows " +
                       std::to_string(rows));
          const Mlp mlp(random, first, second, rows);
          Team team(size);
          const Rows expected = mlp.one_after_the_other(random, between);
          const Rows found = mlp.together(random, between, team.get());
          for (std::int64_t m = 0; m < rows; ++m) {
            for (std::int64_t n = 0; n < mlp.down_case.n; ++n) ASSERT_EQ(found.at(m, n), expected.at(m, n));
          }
        }
      }
    }
  }
  xcpu_use_isa(nullptr);
}

TEST(XcpuMlp, refuses_linears_that_do_not_fit_together) {
  Random random(1);
  Mlp mlp(random, kForms[0], kForms[0], 2);
  mlp.down.weight.packed.k = 64;
  Rows out(random, 2, mlp.down_case.n, mlp.down_case.n, XCPU_F32);
  xcpu_mlp_args args{mlp.up.args(mlp.up_case, {nullptr, XCPU_F32, 0}),
                     mlp.down.args(mlp.down_case, out.get())};
  EXPECT_STREQ(xcpu_mlp(&args, nullptr, nullptr), "up has 128 outputs, and down 64 inputs");
  args.up.x.data = nullptr;
  EXPECT_STREQ(xcpu_mlp(&args, nullptr, nullptr), "up.x.data is NULL");
}

}  // namespace
}  // namespace xcpu_test
