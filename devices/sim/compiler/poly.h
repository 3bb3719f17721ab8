#pragma once
// Sizes, strides and offsets as polynomials of a graph's symbols, so that equal ones can be told to be equal
// before any symbol has a value. Values; any thread may use its own.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace torchplug::sim::compiler {

class Poly {
 public:
  Poly(std::int64_t number = 0) {  // NOLINT: a number is a polynomial
    if (number != 0) terms_[{}] = number;
  }
  static Poly symbol(int index);
  // As plug_graph_value writes sizes: n < 0 is symbol -1 - n.
  static Poly of_size(std::int64_t size) {
    return size < 0 ? symbol(static_cast<int>(-1 - size)) : Poly(size);
  }

  Poly operator+(const Poly& other) const;
  Poly operator-(const Poly& other) const;
  Poly operator*(const Poly& other) const;
  bool operator==(const Poly& other) const { return terms_ == other.terms_; }

  std::optional<std::int64_t> number() const;
  bool is(std::int64_t value) const { return *this == Poly(value); }
  // Nothing, if it is not known to be a multiple of the number.
  std::optional<Poly> divided_by(std::int64_t number) const;
  // In C++, with s[i] for symbol i.
  std::string text() const;

 private:
  std::map<std::vector<int>, std::int64_t> terms_;  // by the sorted symbols of the product
};

using Shape = std::vector<Poly>;

Poly product(const Shape& sizes, std::size_t begin, std::size_t end);
inline Poly product(const Shape& sizes) { return product(sizes, 0, sizes.size()); }
// Strides of elements that lie row by row without gaps.
std::vector<Poly> contiguous(const Shape& sizes);

}  // namespace torchplug::sim::compiler
