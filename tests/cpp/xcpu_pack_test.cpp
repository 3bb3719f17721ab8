// Packed weights: their sizes, what packing rounds to, and that unpacking gives it back.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "xcpu_team.h"
#include "xcpu_values.h"

namespace xcpu_test {
namespace {

xcpu_packed shape(xcpu_kind kind, std::int64_t n, std::int64_t k, int group = 0, int pair = 0) {
  return {nullptr, kind, group, pair, n, k};
}

std::vector<xcpu_packed> shapes() {
  std::vector<xcpu_packed> all;
  for (const int pair : {0, 1}) {
    for (const std::int64_t n : {1, 15, 16, 17, 32, 33, 70}) {
      for (const xcpu_kind kind : {XCPU_W_F32, XCPU_W_BF16, XCPU_W_INT8}) {
        for (const std::int64_t k : {1, 2, 3, 4, 5, 6, 7, 8, 65, 130})
          all.push_back(shape(kind, n, k, 0, pair));
      }
      for (const int group : {32, 64, 128}) {
        for (const std::int64_t groups : {1, 3})
          all.push_back(shape(XCPU_W_INT4, n, groups * group, group, pair));
      }
    }
  }
  return all;
}

std::string text(const xcpu_packed& packed) {
  return "kind " + std::to_string(packed.kind) + " n " + std::to_string(packed.n) + " k " +
         std::to_string(packed.k) + " group " + std::to_string(packed.group) + " pair " +
         std::to_string(packed.pair);
}

std::int64_t element_bytes(xcpu_kind kind) { return kind == XCPU_W_F32 ? 4 : kind == XCPU_W_BF16 ? 2 : 1; }

// A weight with the matrices it was made of.
struct Weight {
  xcpu_packed packed;
  std::unique_ptr<Guarded> memory;
  std::vector<std::unique_ptr<Rows>> sources;

  Weight(Random& random, const xcpu_packed& shape, xcpu_dtype dtype, const xcpu_team* team = nullptr)
      : packed(shape) {
    memory = std::make_unique<Guarded>(static_cast<std::size_t>(xcpu_packed_bytes(&shape)));
    for (int i = 0; i <= shape.pair; ++i) {
      sources.push_back(std::make_unique<Rows>(random, shape.n, shape.k, shape.k + 3, dtype));
    }
    const xcpu_matrix first = sources.front()->matrix();
    const xcpu_matrix second = sources.back()->matrix();
    EXPECT_EQ(xcpu_pack(&shape, &first, shape.pair != 0 ? &second : nullptr, memory->data(), team), nullptr);
    packed.data = memory->data();
  }

  std::vector<std::unique_ptr<Rows>> unpack(xcpu_dtype dtype) const {
    Random random;
    std::vector<std::unique_ptr<Rows>> results;
    for (int i = 0; i <= packed.pair; ++i) {
      results.push_back(std::make_unique<Rows>(random, packed.n, packed.k, packed.k + 1, dtype));
    }
    const xcpu_matrix first = results.front()->matrix();
    const xcpu_matrix second = results.back()->matrix();
    EXPECT_EQ(xcpu_unpack(&packed, &first, packed.pair != 0 ? &second : nullptr, nullptr), nullptr);
    return results;
  }
};

TEST(XcpuPack, the_sizes_of_a_tensor_say_what_is_packed_in_it) {
  for (const xcpu_packed& packed : shapes()) {
    SCOPED_TRACE(text(packed));
    std::int64_t sizes[3];
    ASSERT_EQ(xcpu_packed_sizes(&packed, sizes), nullptr);
    EXPECT_EQ(sizes[0], packed.n);
    EXPECT_EQ(sizes[0] * sizes[1] * sizes[2] * element_bytes(packed.kind), xcpu_packed_bytes(&packed));
    xcpu_packed read{};
    ASSERT_EQ(xcpu_packed_read(packed.kind, sizes, &read), nullptr);
    EXPECT_EQ(text(read), text(packed));
  }
}

TEST(XcpuPack, every_k_has_sizes_of_its_own) {
  for (const xcpu_kind kind : {XCPU_W_F32, XCPU_W_BF16, XCPU_W_INT8}) {
    for (std::int64_t k = 1; k < 300; ++k) {
      const xcpu_packed packed = shape(kind, 5, k);
      std::int64_t sizes[3];
      ASSERT_EQ(xcpu_packed_sizes(&packed, sizes), nullptr);
      xcpu_packed read{};
      ASSERT_EQ(xcpu_packed_read(kind, sizes, &read), nullptr);
      EXPECT_EQ(read.k, k);
    }
  }
}

TEST(XcpuPack, sizes_that_no_weight_has_are_refused) {
  const auto is_refused = [](xcpu_kind kind, std::vector<std::int64_t> sizes) {
    xcpu_packed read{};
    return xcpu_packed_read(kind, sizes.data(), &read) != nullptr;
  };
  EXPECT_TRUE(is_refused(XCPU_W_BF16, {4, 3, 8}));
  EXPECT_TRUE(is_refused(XCPU_W_BF16, {4, 1, 1}));
  EXPECT_TRUE(is_refused(XCPU_W_INT8, {4, 1, 8}));
  EXPECT_TRUE(is_refused(XCPU_W_INT8, {4, 1, 9}));
  EXPECT_TRUE(is_refused(XCPU_W_INT4, {4, 2, 19}));
  EXPECT_TRUE(is_refused(XCPU_W_INT4, {4, 2, 16}));
  EXPECT_TRUE(is_refused(XCPU_W_INT4, {4, 0, 18}));
  EXPECT_TRUE(is_refused(XCPU_W_F32, {0, 1, 8}));
  EXPECT_TRUE(is_refused(XCPU_W_F32, {4, 1, -8}));
  EXPECT_TRUE(is_refused(static_cast<xcpu_kind>(4), {4, 1, 8}));
  xcpu_packed read{};
  const std::int64_t sizes[3] = {4, 2, 19};
  EXPECT_STREQ(xcpu_packed_read(XCPU_W_INT4, sizes, &read),
               "sizes [4, 2, 19] are those of no packed weight of kind 3");
}

TEST(XcpuPack, a_shape_that_cannot_be_is_refused_with_the_value) {
  std::int64_t sizes[3];
  const auto refusal = [&](const xcpu_packed& packed) {
    const char* sentence = xcpu_packed_sizes(&packed, sizes);
    EXPECT_EQ(xcpu_packed_bytes(&packed), 0);
    return std::string(sentence != nullptr ? sentence : "");
  };
  EXPECT_EQ(refusal(shape(XCPU_W_INT4, 4, 100, 32)),
            "packed.k is 100, which is no multiple of its group, 32");
  EXPECT_EQ(refusal(shape(XCPU_W_INT4, 4, 96, 48)), "packed.group is 48; it is 32, 64 or 128");
  EXPECT_EQ(refusal(shape(XCPU_W_BF16, 4, 96, 32)), "packed.group is 32; only int4 weights have groups");
  EXPECT_EQ(refusal(shape(XCPU_W_INT8, 4, 131073)),
            "packed.k is 131073; an int8 weight has at most 131072 inputs");
  EXPECT_EQ(refusal(shape(XCPU_W_F32, 0, 8)), "packed.n is 0; a weight has at least one output");
}

TEST(XcpuPack, fp32_and_bf16_are_what_the_matrix_rounds_to) {
  Random random;
  for (const xcpu_packed& packed : shapes()) {
    if (packed.kind != XCPU_W_F32 && packed.kind != XCPU_W_BF16) continue;
    SCOPED_TRACE(text(packed));
    for (const xcpu_dtype dtype : {XCPU_F32, XCPU_BF16, XCPU_F16}) {
      const Weight weight(random, packed, dtype);
      const auto unpacked = weight.unpack(XCPU_F32);
      for (std::size_t m = 0; m < unpacked.size(); ++m) {
        for (std::int64_t n = 0; n < packed.n; ++n) {
          for (std::int64_t k = 0; k < packed.k; ++k) {
            const double given = weight.sources[m]->at(n, k);
            const double expected = packed.kind == XCPU_W_F32 ? given : rounded_to(XCPU_BF16, given);
            ASSERT_EQ(unpacked[m]->at(n, k), expected);
          }
        }
      }
    }
  }
}

// Of int8 half a step, which is a 127th of the largest of the row. Of int4 as much as the search for a scale
// gives up at the end of the range that reaches to 7 steps only: one and a half of the largest's 8.5.
TEST(XcpuPack, quantised_weights_are_within_what_their_steps_allow) {
  Random random;
  for (const xcpu_packed& packed : shapes()) {
    if (packed.kind != XCPU_W_INT8 && packed.kind != XCPU_W_INT4) continue;
    SCOPED_TRACE(text(packed));
    const Weight weight(random, packed, XCPU_F32);
    const auto unpacked = weight.unpack(XCPU_F32);
    const std::int64_t group = packed.group != 0 ? packed.group : packed.k;
    for (std::size_t m = 0; m < unpacked.size(); ++m) {
      for (std::int64_t n = 0; n < packed.n; ++n) {
        for (std::int64_t begin = 0; begin < packed.k; begin += group) {
          double largest = 0;
          for (std::int64_t k = begin; k < begin + group; ++k) {
            largest = std::max(largest, std::fabs(weight.sources[m]->at(n, k)));
          }
          for (std::int64_t k = begin; k < begin + group; ++k) {
            const double error = std::fabs(unpacked[m]->at(n, k) - weight.sources[m]->at(n, k));
            ASSERT_LE(error, packed.kind == XCPU_W_INT8 ? largest / 253 : largest * 0.18);
          }
        }
      }
    }
  }
}

TEST(XcpuPack, int4_loses_less_than_the_plain_scale_would) {
  Random random;
  const xcpu_packed packed = shape(XCPU_W_INT4, 64, 1024, 64);
  const Weight weight(random, packed, XCPU_F32);
  const auto unpacked = weight.unpack(XCPU_F32);
  double lost = 0;
  double plain = 0;
  for (std::int64_t n = 0; n < packed.n; ++n) {
    for (std::int64_t begin = 0; begin < packed.k; begin += 64) {
      double largest = 0;
      for (std::int64_t k = begin; k < begin + 64; ++k) {
        largest = std::max(largest, std::fabs(weight.sources[0]->at(n, k)));
      }
      for (std::int64_t k = begin; k < begin + 64; ++k) {
        const double value = weight.sources[0]->at(n, k);
        lost += std::pow(unpacked[0]->at(n, k) - value, 2);
        plain += std::pow(std::nearbyint(value * 7 / largest) * largest / 7 - value, 2);
      }
    }
  }
  EXPECT_LT(lost, 0.9 * plain);
}

TEST(XcpuPack, packing_what_was_unpacked_gives_the_same_bytes) {
  Random random;
  for (const xcpu_packed& packed : shapes()) {
    if (packed.kind == XCPU_W_INT4) continue;  // its search for a scale may find another for the same weights
    SCOPED_TRACE(text(packed));
    const Weight weight(random, packed, XCPU_F32);
    const auto unpacked = weight.unpack(XCPU_F32);
    const xcpu_matrix first = unpacked.front()->matrix();
    const xcpu_matrix second = unpacked.back()->matrix();
    const auto bytes = static_cast<std::size_t>(xcpu_packed_bytes(&packed));
    const Guarded again(bytes);
    ASSERT_EQ(xcpu_pack(&packed, &first, packed.pair != 0 ? &second : nullptr, again.data(), nullptr),
              nullptr);
    if (packed.kind == XCPU_W_INT8) continue;
    EXPECT_EQ(std::memcmp(again.data(), weight.memory->data(), bytes), 0);
  }
}

TEST(XcpuPack, any_strides_and_any_team_give_the_same_bytes) {
  for (const xcpu_packed& packed :
       {shape(XCPU_W_BF16, 70, 65), shape(XCPU_W_INT8, 70, 67), shape(XCPU_W_INT4, 40, 128, 32, 1)}) {
    SCOPED_TRACE(text(packed));
    Random random(7);
    const Weight weight(random, packed, XCPU_F32);
    const auto bytes = static_cast<std::size_t>(xcpu_packed_bytes(&packed));
    const auto transposed = [&](const Rows& source) {
      auto rows = std::make_unique<Rows>(random, packed.k, packed.n, packed.n + 2, XCPU_F32);
      for (std::int64_t n = 0; n < packed.n; ++n) {
        for (std::int64_t k = 0; k < packed.k; ++k) rows->set(k, n, source.at(n, k));
      }
      return rows;
    };
    const auto first = transposed(*weight.sources.front());
    const auto second = transposed(*weight.sources.back());
    const xcpu_matrix matrices[2] = {{first->get().data, XCPU_F32, 1, packed.n + 2},
                                     {second->get().data, XCPU_F32, 1, packed.n + 2}};
    for (const int size : {1, 2, 3}) {
      Team team(size);
      const Guarded packed_again(bytes);
      std::memset(packed_again.data(), 0x5A, bytes);
      ASSERT_EQ(xcpu_pack(&packed, &matrices[0], packed.pair != 0 ? &matrices[1] : nullptr,
                          packed_again.data(), team.get()),
                nullptr);
      EXPECT_EQ(std::memcmp(packed_again.data(), weight.memory->data(), bytes), 0);
    }
  }
}

TEST(XcpuPack, a_weight_that_is_not_finite_makes_its_scale_not_a_number) {
  Random random;
  for (const xcpu_packed& packed : {shape(XCPU_W_INT8, 3, 64), shape(XCPU_W_INT4, 3, 64, 32)}) {
    for (const double bad : {double{INFINITY}, std::numeric_limits<double>::quiet_NaN()}) {
      Weight weight(random, packed, XCPU_F32);
      weight.sources[0]->set(1, 40, bad);
      const xcpu_matrix matrix = weight.sources[0]->matrix();
      ASSERT_EQ(xcpu_pack(&packed, &matrix, nullptr, weight.memory->data(), nullptr), nullptr);
      const auto unpacked = weight.unpack(XCPU_F32);
      EXPECT_TRUE(std::isnan(unpacked[0]->at(1, 40)));
      EXPECT_TRUE(std::isfinite(unpacked[0]->at(0, 40)));
      EXPECT_TRUE(std::isfinite(unpacked[0]->at(2, 40)));
    }
  }
}

TEST(XcpuPack, of_zeros_it_makes_zeros) {
  Random random;
  for (const xcpu_packed& packed : {shape(XCPU_W_INT8, 3, 64), shape(XCPU_W_INT4, 3, 64, 32)}) {
    Weight weight(random, packed, XCPU_F32);
    for (std::int64_t k = 0; k < 64; ++k) weight.sources[0]->set(1, k, 0);
    const xcpu_matrix matrix = weight.sources[0]->matrix();
    ASSERT_EQ(xcpu_pack(&packed, &matrix, nullptr, weight.memory->data(), nullptr), nullptr);
    const auto unpacked = weight.unpack(XCPU_BF16);
    for (std::int64_t k = 0; k < 64; ++k) EXPECT_EQ(unpacked[0]->at(1, k), 0);
  }
}

TEST(XcpuPack, what_is_missing_is_named) {
  Random random;
  const Rows rows(random, 4, 8, 8, XCPU_F32);
  const xcpu_matrix matrix = rows.matrix();
  std::vector<float> out(1000);
  const xcpu_packed pair = shape(XCPU_W_F32, 4, 8, 0, 1);
  const xcpu_packed single = shape(XCPU_W_F32, 4, 8);
  EXPECT_STREQ(xcpu_pack(&pair, &matrix, nullptr, out.data(), nullptr),
               "packed is a pair, and second is absent");
  EXPECT_STREQ(xcpu_pack(&single, &matrix, &matrix, out.data(), nullptr),
               "packed is no pair, and there is a second");
  EXPECT_STREQ(xcpu_pack(&single, nullptr, nullptr, out.data(), nullptr), "matrix is absent");
}

}  // namespace
}  // namespace xcpu_test
