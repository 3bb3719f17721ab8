#include "poly.h"

#include <algorithm>

namespace torchplug::sim::compiler {

Poly Poly::symbol(int index) {
  Poly made;
  made.terms_[{index}] = 1;
  return made;
}

Poly Poly::operator+(const Poly& other) const {
  Poly sum = *this;
  for (const auto& [symbols, factor] : other.terms_) {
    std::int64_t& term = sum.terms_[symbols];
    term += factor;
    if (term == 0) sum.terms_.erase(symbols);
  }
  return sum;
}

Poly Poly::operator-(const Poly& other) const { return *this + other * Poly(-1); }

Poly Poly::operator*(const Poly& other) const {
  Poly result;
  for (const auto& [left, a] : terms_) {
    for (const auto& [right, b] : other.terms_) {
      Poly term;
      std::vector<int> symbols = left;
      symbols.insert(symbols.end(), right.begin(), right.end());
      std::sort(symbols.begin(), symbols.end());
      term.terms_[symbols] = a * b;
      result = result + term;
    }
  }
  return result;
}

std::optional<std::int64_t> Poly::number() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

std::string Poly::text() const {
  if (terms_.empty()) return "0";
  std::string sum;
  for (const auto& [symbols, factor] : terms_) {
    std::string term;
    if (factor != 1 || symbols.empty()) term = std::to_string(factor) + "L";
    for (const int symbol : symbols) term += (term.empty() ? "s[" : "*s[") + std::to_string(symbol) + "]";
    sum += (sum.empty() ? "" : "+") + term;
  }
  const bool is_atom = sum.find_first_of("+-*") == std::string::npos;
  return is_atom ? sum : "(" + sum + ")";  // it may stand behind a % or a /
}

std::optional<Poly> Poly::divided_by(std::int64_t number) const {
  Poly quotient;
  for (const auto& [symbols, factor] : terms_) {
    if (number == 0 || factor % number != 0) return std::nullopt;
    quotient.terms_[symbols] = factor / number;
  }
  return quotient;
}

Poly product(const Shape& sizes, std::size_t begin, std::size_t end) {
  Poly result = 1;
  for (std::size_t d = begin; d < end; ++d) result = result * sizes[d];
  return result;
}

std::vector<Poly> contiguous(const Shape& sizes) {
  std::vector<Poly> strides(sizes.size());
  Poly next = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    strides[d] = next;
    next = next * sizes[d];
  }
  return strides;
}

}  // namespace torchplug::sim::compiler
