// Products of matrices as they lie, against float64.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "xcpu_heads.h"

namespace xcpu_test {
namespace {

class XcpuProduct : public OfEachIsa {};
INSTANTIATE_TEST_SUITE_P(All, XcpuProduct, testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

// Matrices of some batches, one below the other, contiguous along their rows or along their columns.
class Matrices {
 public:
  Matrices(Random& random, std::int64_t batches, std::int64_t rows, std::int64_t columns, bool is_transposed,
           std::int64_t gap, xcpu_dtype dtype)
      : is_transposed_(is_transposed),
        lines_(is_transposed ? columns : rows),
        stride_((is_transposed ? rows : columns) + gap),
        memory_(random, batches * lines_, stride_ - gap, stride_, dtype) {}

  double at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return memory_.at(batch * lines_ + (is_transposed_ ? column : row), is_transposed_ ? row : column);
  }
  xcpu_matrix get() const {
    const xcpu_rows rows = memory_.get();
    return is_transposed_ ? xcpu_matrix{rows.data, rows.dtype, 1, stride_}
                          : xcpu_matrix{rows.data, rows.dtype, stride_, 1};
  }
  std::int64_t batch_stride() const { return lines_ * stride_; }

 private:
  bool is_transposed_;
  std::int64_t lines_, stride_;
  Rows memory_;
};

struct Layout {
  bool is_x_transposed, is_weight_transposed;
};

void expect_product(Random& random, Layout layout, bool is_large) {
  const std::vector<xcpu_dtype> dtypes = {XCPU_F32, XCPU_BF16, XCPU_F16};
  const std::int64_t batches = choose(random, 1, 3);
  const std::int64_t rows = choose(random, 1, is_large ? 150 : 40);
  const std::int64_t n = choose(random, 1, is_large ? 300 : 70);
  const std::int64_t k = choose(random, 1, is_large ? 1500 : 100);
  const xcpu_dtype x_dtype = one_of(random, dtypes);
  const xcpu_dtype weight_dtype = choose(random, 0, 3) > 0 ? x_dtype : one_of(random, dtypes);
  const xcpu_dtype out_dtype = choose(random, 0, 2) > 0 ? x_dtype : XCPU_F32;
  const Matrices x(random, batches, rows, k, layout.is_x_transposed, choose(random, 0, 2), x_dtype);
  const Matrices weight(random, batches, n, k, layout.is_weight_transposed, choose(random, 0, 2),
                        weight_dtype);
  const Rows bias(random, 1, n, n, one_of(random, dtypes));
  const bool has_bias = choose(random, 0, 1) == 1;
  Result out(batches * rows, n, n + choose(random, 0, 2), out_dtype);
  const int size = static_cast<int>(choose(random, 1, 3));
  xcpu_product_args args{};
  args.batches = batches;
  args.rows = rows;
  args.n = n;
  args.k = k;
  args.x = x.get();
  args.weight = weight.get();
  args.bias = if_given(has_bias, bias.get());
  args.out = out.get();
  args.x_batch_stride = x.batch_stride();
  args.weight_batch_stride = weight.batch_stride();
  args.out_batch_stride = rows * args.out.stride;
  args.threads = static_cast<int>(choose(random, 1, 3));
  const Guarded scratch(static_cast<std::size_t>(xcpu_product_scratch(&args)));
  const Team team(size);
  ASSERT_STREQ(xcpu_product(&args, scratch.data(), team.get()), nullptr);
  out.expect_nothing_else_written();
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        double total = has_bias ? bias.at(0, column) : 0;
        double terms = std::fabs(total);
        for (std::int64_t i = 0; i < k; ++i) {
          const double term = x.at(batch, row, i) * weight.at(batch, column, i);
          total += term;
          terms += std::fabs(term);
        }
        const Bounded expected = stored(out_dtype, {total, 4e-7 * terms * std::sqrt(static_cast<double>(k))});
        ASSERT_NEAR(out.at(batch * rows + row, column), expected.value, expected.error)
            << batches << " products of " << rows << " by " << k << " and " << n << ", batch " << batch
            << " row " << row << " column " << column;
      }
    }
  }
}

TEST_P(XcpuProduct, is_within_rounding_of_float64_in_every_layout) {
  for (unsigned repeat = 0; repeat < (is_full_sweep() ? 900 : 90); ++repeat) {
    Random random(repeat);
    for (const Layout layout :
         {Layout{false, false}, Layout{false, true}, Layout{true, false}, Layout{true, true}}) {
      expect_product(random, layout, repeat % 15 == 0);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(XcpuProductArguments, are_refused_by_name) {
  float data[16] = {};
  xcpu_product_args args{};
  args.batches = 1;
  args.rows = args.n = args.k = 2;
  EXPECT_STREQ(xcpu_product(&args, nullptr, nullptr), "threads is 0; it is 1 to 9223372036854775807");
  args.threads = 1;
  EXPECT_STREQ(xcpu_product(&args, nullptr, nullptr), "x.data is NULL");
  args.x = {data, XCPU_F32, 1, 2};
  args.weight = {data, XCPU_F32, 3, 5};
  args.out = {data, XCPU_F32, 2};
  EXPECT_STREQ(xcpu_product(&args, nullptr, nullptr), "weight has the strides 3 and 5; one of them is 1");
  args.rows = 0;
  EXPECT_STREQ(xcpu_product(&args, nullptr, nullptr), nullptr);
}

}  // namespace
}  // namespace xcpu_test
