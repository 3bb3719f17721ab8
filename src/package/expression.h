#pragma once
// A number that follows from the numbers of a call, its symbols: an expression in postfix, as sizes, strides,
// arguments of operators and conditions on inputs need it. A value; any thread may work one out.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "package/bytes.h"

namespace torchplug::package {

using Number = std::variant<int64_t, double>;

double to_double(const Number& number);
// Throws for a number that is no integer.
int64_t to_integer(const Number& number);

// Booleans are 0 and 1. The names are those that Python writes: torchplug/package/_expressions.py.
enum class Operation : uint8_t {
  kInteger,
  kFloat,
  kSymbol,
  kAdd,
  kMultiply,
  kDivide,       // exact where it can be, else a float
  kFloorDivide,  // towards minus infinity, as Python's //
  kModulo,       // of the divisor's sign, as Python's %
  kPower,
  kMinimum,
  kMaximum,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kAnd,
  kOr,
  kNot,
  kSquareRoot,
  kToFloat,
  kFloor,  // to an integer, as the following
  kCeiling,
  kTruncate,
  kRound,
  kSelect,  // condition, then, else
};

struct Term {
  Operation operation{};
  int64_t bits = 0;  // of the number, or the symbol

  static void fields(auto& archive, auto& self) { archive(self.operation, self.bits); }
};

class Expression {
 public:
  Expression() : Expression({{Operation::kInteger, 0}}) {}
  // Throws if they are no expression.
  explicit Expression(std::vector<Term> terms);
  static Expression integer(int64_t value) { return Expression({{Operation::kInteger, value}}); }

  // "add"; throws for a name that there is not.
  static Operation operation_named(std::string_view name);

  // `symbols` has all that it uses. Throws for what is no number of 64 bits, and for a division by zero.
  Number value(std::span<const Number> symbols) const;
  int64_t integer_value(std::span<const Number> symbols) const { return to_integer(value(symbols)); }

  bool uses(int64_t symbol) const;
  // One more than the greatest symbol.
  int64_t symbol_count() const { return symbol_count_; }

  static void fields(auto& archive, auto& self) {
    archive(self.terms_);
    self.check();
  }

 private:
  void check();
  void check() const {}  // it was, when it was made

  std::vector<Term> terms_;
  int64_t symbol_count_ = 0;
};

}  // namespace torchplug::package
