#pragma once
// Numbers for tests of xcpu, independent of its own: rounding by arithmetic in float64, random matrices in
// memory whose end is the end of a page, behind which nothing may be read.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "xcpu/xcpu.h"

namespace xcpu_test {

inline bool is_full_sweep() {
  const char* sweep = std::getenv("TORCHPLUG_TEST_SWEEP");
  return sweep != nullptr && std::string(sweep) == "all";
}

// The nearest number with so many bits of precision whose smallest exponent is that of 2^least, ties to even.
inline double rounded(double value, int precision, int least) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int ulp = std::max(exponent - precision, least - precision + 1);
  return std::ldexp(std::nearbyint(std::ldexp(value, -ulp)), ulp);
}

inline double rounded_to(xcpu_dtype dtype, double value) {
  switch (dtype) {
    case XCPU_BF16: return rounded(value, 8, -126);
    case XCPU_F16:
      return std::fabs(value) >= 65520 ? std::copysign(INFINITY, value) : rounded(value, 11, -14);
    default: return static_cast<float>(value);
  }
}

inline std::size_t bytes_of(xcpu_dtype dtype) { return dtype == XCPU_F32 ? 4 : 2; }

inline double read_element(const void* data, xcpu_dtype dtype, std::int64_t at) {
  if (dtype == XCPU_F32) return static_cast<const float*>(data)[at];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(data)[at];
  const int fraction_bits = dtype == XCPU_BF16 ? 7 : 10;
  const int exponent_bits = 15 - fraction_bits;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  }
  const double significand = fraction + (exponent != 0 ? 1 << fraction_bits : 0);
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias - fraction_bits);
}

// Of a number that the type has.
inline void write_element(void* data, xcpu_dtype dtype, std::int64_t at, double value) {
  if (dtype == XCPU_F32) {
    static_cast<float*>(data)[at] = static_cast<float>(value);
    return;
  }
  std::uint16_t bits = 0;
  if (dtype == XCPU_BF16) {
    const auto wide = static_cast<float>(value);
    std::memcpy(&bits, reinterpret_cast<const char*>(&wide) + 2, 2);
  } else {
    int exponent = 0;
    const double significand = std::frexp(std::fabs(value), &exponent);
    const int ulp = std::max(exponent, -13) - 11;
    const auto units = static_cast<int>(std::ldexp(significand, exponent - ulp));
    bits = static_cast<std::uint16_t>((std::max(exponent, -13) + 13) * 1024 + units);
    if (std::signbit(value)) bits |= 0x8000;
  }
  static_cast<std::uint16_t*>(data)[at] = bits;
}

// Memory behind which lies a page that may not be touched.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    mapped_ = (bytes + page - 1) / page * page + page;
    begin_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin_ == MAP_FAILED) throw std::runtime_error("mmap failed");
    auto* end = static_cast<char*>(begin_) + mapped_ - page;
    ::mprotect(end, page, PROT_NONE);
    data_ = end - bytes;
  }
  ~Guarded() {
    if (begin_ != nullptr) ::munmap(begin_, mapped_);
  }
  Guarded(Guarded&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), mapped_(other.mapped_), data_(other.data_) {}
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  void* data() const { return data_; }

 private:
  void* begin_;
  std::size_t mapped_;
  void* data_;
};

using Random = std::mt19937;

inline std::int64_t choose(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

template <class T>
T one_of(Random& random, const std::vector<T>& all) {
  return all[static_cast<std::size_t>(choose(random, 0, static_cast<std::int64_t>(all.size()) - 1))];
}

// Random rows, as many columns as `columns` with gaps between rows, and what they are in float64.
class Rows {
 public:
  Rows(Random& random, std::int64_t rows, std::int64_t columns, std::int64_t stride, xcpu_dtype dtype,
       double scale = 1)
      : columns_(columns),
        stride_(stride),
        dtype_(dtype),
        memory_(static_cast<std::size_t>((rows - 1) * stride + columns) * bytes_of(dtype)) {
    std::normal_distribution<double> normal(0, scale);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) set(r, c, normal(random));
    }
  }

  double at(std::int64_t row, std::int64_t column) const {
    return read_element(memory_.data(), dtype_, row * stride_ + column);
  }
  void set(std::int64_t row, std::int64_t column, double value) {
    write_element(memory_.data(), dtype_, row * stride_ + column, rounded_to(dtype_, value));
  }

  xcpu_rows get() const { return {memory_.data(), dtype_, stride_}; }
  xcpu_matrix matrix() const { return {memory_.data(), dtype_, stride_, 1}; }
  std::int64_t columns() const { return columns_; }

 private:
  std::int64_t columns_, stride_;
  xcpu_dtype dtype_;
  Guarded memory_;
};

}  // namespace xcpu_test
