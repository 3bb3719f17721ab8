// Elements and numbers of plug_util.h: every code of every small float, against its definition.
// tests/python/test_plug_util.py compares conversions with PyTorch's.

#include <gtest/gtest.h>
#include <torchplug/plug_util.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace util_test {
namespace {

struct Format {
  plug_dtype dtype;
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity, has_negative_zero;
};

const Format kFormats[] = {
    {PLUG_F16, 5, 10, 15, true, true},      {PLUG_BF16, 8, 7, 127, true, true},
    {PLUG_F8_E4M3FN, 4, 3, 7, false, true}, {PLUG_F8_E4M3FNUZ, 4, 3, 8, false, false},
    {PLUG_F8_E5M2, 5, 2, 15, true, true},   {PLUG_F8_E5M2FNUZ, 5, 2, 16, false, false},
};

// What a code means, by the definition of the format.
double meaning(const Format& format, std::uint32_t code) {
  const int width = format.exponent_bits + format.mantissa_bits;
  const bool is_negative = (code >> width & 1) != 0;
  const int exponent = static_cast<int>(code >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
  const int mantissa = static_cast<int>(code) & ((1 << format.mantissa_bits) - 1);
  const bool is_last_exponent = exponent == (1 << format.exponent_bits) - 1;
  const bool is_last = is_last_exponent && mantissa == (1 << format.mantissa_bits) - 1;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (format.has_infinity && is_last_exponent)
    return mantissa != 0 ? nan : is_negative ? -INFINITY : INFINITY;
  if (!format.has_infinity && format.has_negative_zero && is_last) return nan;
  if (!format.has_negative_zero && code == 1U << width) return nan;
  const double value = exponent == 0 ? std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits)
                                     : std::ldexp(mantissa + (1 << format.mantissa_bits),
                                                  exponent - format.bias - format.mantissa_bits);
  return is_negative ? -value : value;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

std::uint32_t code_of(plug_dtype dtype, double value) {
  std::uint32_t code = 0;
  plug_store(&code, dtype, value);
  return code;
}

TEST(Element, of_every_code_of_a_small_float_has_its_meaning_and_is_stored_as_it_was) {
  for (const Format& format : kFormats) {
    const std::uint32_t codes = 1U << (8 * PLUG_DTYPE_BYTES(format.dtype));
    for (std::uint32_t code = 0; code < codes; ++code) {
      const double expected = meaning(format, code);
      ASSERT_TRUE(same(plug_load(&code, format.dtype), expected)) << format.dtype << " " << code;
      if (!std::isnan(expected)) {
        ASSERT_EQ(code_of(format.dtype, expected), code);
      }
    }
    ASSERT_TRUE(std::isnan(meaning(format, code_of(format.dtype, NAN))));
  }
}

TEST(Element, between_two_codes_goes_to_the_nearer_and_halfway_to_the_even) {
  for (const Format& format : kFormats) {
    const std::uint32_t positive = 1U << (8 * PLUG_DTYPE_BYTES(format.dtype) - 1);
    for (std::uint32_t code = 0; code + 1 < positive; ++code) {
      const double low = meaning(format, code);
      const double high = meaning(format, code + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) break;
      const float half = static_cast<float>((low + high) / 2);
      const std::uint32_t even = code % 2 == 0 ? code : code + 1;
      // bf16 has float's own exponents: halfway between its subnormals is still a float.
      ASSERT_EQ(code_of(format.dtype, half), even);
      ASSERT_EQ(code_of(format.dtype, std::nextafter(half, 0.0F)), code);
      ASSERT_EQ(code_of(format.dtype, std::nextafter(half, INFINITY)), code + 1);
      const std::uint32_t negative = even == 0 && !format.has_negative_zero ? 0 : positive | even;
      ASSERT_EQ(code_of(format.dtype, -half), negative);
    }
  }
}

TEST(Element, beyond_the_largest_is_infinite_or_not_a_number_or_the_largest) {
  for (const Format& format : kFormats) {
    for (const double value : {1e38, -1e38, static_cast<double>(INFINITY), -static_cast<double>(INFINITY)}) {
      if (format.dtype == PLUG_BF16 && std::isfinite(value)) continue;
      const double stored = meaning(format, code_of(format.dtype, value));
      if (format.has_infinity) {
        ASSERT_EQ(stored, std::copysign(INFINITY, value));
      } else if (format.has_negative_zero) {
        ASSERT_EQ(stored, std::copysign(448, value));
      } else {
        ASSERT_TRUE(std::isnan(stored));
      }
    }
  }
}

TEST(Element, e8m0_holds_powers_of_two) {
  for (std::uint32_t code = 0; code < 255; ++code) {
    ASSERT_EQ(plug_load(&code, PLUG_F8_E8M0FNU), std::ldexp(1.0, static_cast<int>(code) - 127));
    ASSERT_EQ(code_of(PLUG_F8_E8M0FNU, std::ldexp(1.0, static_cast<int>(code) - 127)), code);
  }
  const std::uint32_t last = 255;
  ASSERT_TRUE(std::isnan(plug_load(&last, PLUG_F8_E8M0FNU)));
  ASSERT_EQ(code_of(PLUG_F8_E8M0FNU, INFINITY), 255U);
  ASSERT_EQ(code_of(PLUG_F8_E8M0FNU, 1.4), 127U);
  ASSERT_EQ(code_of(PLUG_F8_E8M0FNU, 1.6), 128U);
}

template <class T>
void holds_its_limits(plug_dtype dtype) {
  for (const T value : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1}}) {
    ASSERT_EQ(plug_load_int(&value, dtype), static_cast<std::int64_t>(value));
    ASSERT_EQ(plug_load(&value, dtype), static_cast<double>(value));
    T stored{};
    plug_store_int(&stored, dtype, static_cast<std::int64_t>(value));
    ASSERT_EQ(stored, value);
    T as_double{};
    plug_store(&as_double, dtype, static_cast<double>(value));
    if (sizeof(T) < 8) {
      ASSERT_EQ(as_double, value);
    }
  }
}

TEST(Element, of_every_integer_dtype_keeps_its_least_and_its_greatest) {
  holds_its_limits<std::int8_t>(PLUG_I8);
  holds_its_limits<std::int16_t>(PLUG_I16);
  holds_its_limits<std::int32_t>(PLUG_I32);
  holds_its_limits<std::int64_t>(PLUG_I64);
  holds_its_limits<std::uint8_t>(PLUG_U8);
  holds_its_limits<std::uint16_t>(PLUG_U16);
  holds_its_limits<std::uint32_t>(PLUG_U32);
  holds_its_limits<std::uint64_t>(PLUG_U64);
  holds_its_limits<bool>(PLUG_BOOL);
}

TEST(Element, that_no_integer_holds_is_the_nearest_one) {
  std::int64_t stored = 0;
  plug_store(&stored, PLUG_I64, 1e300);
  EXPECT_EQ(stored, INT64_MAX);
  plug_store(&stored, PLUG_I64, -INFINITY);
  EXPECT_EQ(stored, INT64_MIN);
  plug_store(&stored, PLUG_I64, NAN);
  EXPECT_EQ(stored, 0);
  plug_store(&stored, PLUG_I64, -2.9);
  EXPECT_EQ(stored, -2);
  std::uint64_t natural = 0;
  plug_store(&natural, PLUG_U64, 1e19);
  EXPECT_EQ(natural, 10000000000000000000U);
  std::uint8_t truth = 0;
  plug_store(&truth, PLUG_BOOL, 0.25);
  EXPECT_EQ(truth, 1);
}

TEST(Convert, takes_runs_of_any_stride_between_any_two_dtypes) {
  const plug_dtype dtypes[] = {PLUG_I8,  PLUG_I16, PLUG_I32,  PLUG_I64,       PLUG_U8,     PLUG_U16,
                               PLUG_U32, PLUG_U64, PLUG_F16,  PLUG_F32,       PLUG_F64,    PLUG_BF16,
                               PLUG_C32, PLUG_C64, PLUG_C128, PLUG_F8_E4M3FN, PLUG_F8_E5M2};
  for (const plug_dtype from : dtypes) {
    for (const plug_dtype to : dtypes) {
      constexpr std::int64_t kCount = 300;  // more than one block
      const auto wide = static_cast<std::int64_t>(2 * PLUG_DTYPE_BYTES(from));
      const auto narrow = static_cast<std::int64_t>(PLUG_DTYPE_BYTES(to));
      std::vector<double> source(kCount * 4);
      std::vector<double> target(kCount * 2);
      char* const p = reinterpret_cast<char*>(source.data());
      char* const last = reinterpret_cast<char*>(target.data()) + (kCount - 1) * narrow;
      for (std::int64_t i = 0; i < kCount; ++i) plug_store(p + i * wide, from, static_cast<double>(i % 5));
      ASSERT_EQ(plug_convert(last, to, -narrow, p, from, wide, kCount), PLUG_OK);
      for (std::int64_t i = 0; i < kCount; ++i)
        ASSERT_EQ(plug_load(last - i * narrow, to), static_cast<double>(i % 5)) << from << " to " << to;
    }
  }
}

TEST(Convert, keeps_integers_and_complex_numbers_whole) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  std::uint64_t natural = 0;
  ASSERT_EQ(plug_convert(&natural, PLUG_U64, 8, &large, PLUG_I64, 8, 1), PLUG_OK);
  EXPECT_EQ(natural, static_cast<std::uint64_t>(large));
  const std::uint64_t largest = UINT64_MAX;
  double real = 0;
  ASSERT_EQ(plug_convert(&real, PLUG_F64, 8, &largest, PLUG_U64, 8, 1), PLUG_OK);
  EXPECT_EQ(real, 18446744073709551616.0);
  const float complex_number[] = {1.5F, -2.5F};
  double wide[2] = {0, 0};
  ASSERT_EQ(plug_convert(wide, PLUG_C128, 16, complex_number, PLUG_C64, 8, 1), PLUG_OK);
  EXPECT_EQ(wide[0], 1.5);
  EXPECT_EQ(wide[1], -2.5);
  const float imaginary[] = {0.0F, 1.0F};
  std::uint8_t truth = 0;
  ASSERT_EQ(plug_convert(&truth, PLUG_BOOL, 1, imaginary, PLUG_C64, 8, 1), PLUG_OK);
  EXPECT_EQ(truth, 1);
  EXPECT_EQ(plug_convert(&real, PLUG_F64, 8, &largest, PLUG_QU8, 1, 1), PLUG_UNSUPPORTED);
}

// ---- numbers ----

plug_value number_in(plug_tensor& tensor, void* element, plug_dtype dtype) {
  tensor = plug_tensor{};
  tensor.mem.base = element;
  tensor.mem.device = PLUG_HOST;
  tensor.dtype = dtype;
  plug_value value{};
  value.tag = PLUG_VALUE_TENSOR;
  value.as.tensors = &tensor;
  return value;
}

TEST(Number, is_read_from_every_tag) {
  double real = 7;
  std::int64_t whole = 7;
  int truth = 0;
  plug_value value{};
  EXPECT_EQ(plug_get_double(&value, &real), PLUG_OK);
  EXPECT_EQ(plug_get_int(&value, &whole), PLUG_OK);
  EXPECT_EQ(plug_get_bool(&value, &truth), PLUG_OK);
  EXPECT_TRUE(real == 7 && whole == 7 && truth == 0);  // what was there
  value.tag = PLUG_VALUE_INT;
  value.as.i = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(plug_get_int(&value, &whole), PLUG_OK);
  EXPECT_EQ(whole, (std::int64_t{1} << 60) + 1);
  EXPECT_EQ(plug_get_bool(&value, &truth), PLUG_OK);
  EXPECT_EQ(truth, 1);
  value.tag = PLUG_VALUE_FLOAT;
  value.as.f = -2.75;
  EXPECT_EQ(plug_get_double(&value, &real), PLUG_OK);
  EXPECT_EQ(real, -2.75);
  EXPECT_EQ(plug_get_int(&value, &whole), PLUG_OK);
  EXPECT_EQ(whole, -2);
  value.tag = PLUG_VALUE_UINT;
  value.as.u = UINT64_MAX;
  EXPECT_EQ(plug_get_double(&value, &real), PLUG_OK);
  EXPECT_EQ(real, 18446744073709551616.0);
  EXPECT_EQ(plug_get_int(&value, &whole), PLUG_UNSUPPORTED);
  const double parts[] = {1, 2};
  value.tag = PLUG_VALUE_COMPLEX;
  value.as.floats = parts;
  double both[2] = {0, 0};
  EXPECT_EQ(plug_get_complex(&value, both), PLUG_OK);
  EXPECT_TRUE(both[0] == 1 && both[1] == 2);
  EXPECT_EQ(plug_get_double(&value, &real), PLUG_UNSUPPORTED);
  value.tag = PLUG_VALUE_STR;
  EXPECT_EQ(plug_get_double(&value, &real), PLUG_UNSUPPORTED);
}

TEST(Number, is_read_from_a_tensor_of_one_element_in_host_memory_with_its_lazy_bits) {
  plug_tensor tensor;
  double both[2] = {1.5, -2};
  plug_value value = number_in(tensor, both, PLUG_C128);
  tensor.flags = PLUG_TENSOR_CONJ | PLUG_TENSOR_NEG;
  double read[2] = {0, 0};
  EXPECT_EQ(plug_get_complex(&value, read), PLUG_OK);
  EXPECT_TRUE(read[0] == -1.5 && read[1] == -2);
  std::int64_t large = (std::int64_t{1} << 60) + 1;
  std::int64_t whole = 0;
  value = number_in(tensor, &large, PLUG_I64);
  EXPECT_EQ(plug_get_int(&value, &whole), PLUG_OK);
  EXPECT_EQ(whole, large);
  tensor.flags = PLUG_TENSOR_NEG;
  EXPECT_EQ(plug_get_int(&value, &whole), PLUG_OK);
  EXPECT_EQ(whole, -large);
  large = INT64_MIN;  // which has no negative
  EXPECT_EQ(plug_get_int(&value, &whole), PLUG_OK);
  EXPECT_EQ(whole, INT64_MIN);
  double real = 0;
  tensor.mem.device = 0;
  EXPECT_EQ(plug_get_double(&value, &real), PLUG_UNSUPPORTED);
}

}  // namespace
}  // namespace util_test
