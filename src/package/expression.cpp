#include "package/expression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace torchplug::package {
namespace {

constexpr size_t kDeepest = 64;  // numbers that wait for their operation

struct Known {
  const char* name;
  int operands;
};

// By operation.
constexpr std::array<Known, static_cast<size_t>(Operation::kSelect) + 1> kOperations = {{
    {"int", 0},  {"float", 0}, {"symbol", 0}, {"add", 2},    {"mul", 2},  {"div", 2},      {"floordiv", 2},
    {"mod", 2},  {"pow", 2},   {"min", 2},    {"max", 2},    {"eq", 2},   {"ne", 2},       {"lt", 2},
    {"le", 2},   {"and", 2},   {"or", 2},     {"not", 1},    {"sqrt", 1}, {"to_float", 1}, {"floor", 1},
    {"ceil", 1}, {"trunc", 1}, {"round", 1},  {"select", 3},
}};

bool is_integer(const Number& number) { return std::holds_alternative<int64_t>(number); }
int64_t integer_of(const Number& number) { return std::get<int64_t>(number); }
bool is_true(const Number& number) { return to_double(number) != 0; }

[[noreturn]] void refuse_overflow() {
  refuse("A size that the package works out is no 64-bit number. Give it smaller inputs.");
}

[[noreturn]] void refuse_zero() {
  refuse("A size that the package works out is divided by zero. Give it inputs of other sizes.");
}

Number rounded(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!(value >= -kLimit && value < kLimit)) refuse_overflow();
  return static_cast<int64_t>(value);
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) refuse_zero();
  if (b == -1) {  // the least number has no opposite
    int64_t opposite = 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &opposite)) refuse_overflow();
    return opposite;
  }
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t modulo(int64_t a, int64_t b) {
  if (b == 0) refuse_zero();
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Number power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) refuse_overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) refuse_overflow();
  }
  return result;
}

Number on_integers(Operation operation, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (operation) {
    case Operation::kAdd:
      if (__builtin_add_overflow(a, b, &result)) refuse_overflow();
      return result;
    case Operation::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) refuse_overflow();
      return result;
    case Operation::kDivide:
      if (b == 0) refuse_zero();
      if (modulo(a, b) == 0) return floor_quotient(a, b);
      return static_cast<double>(a) / static_cast<double>(b);
    case Operation::kFloorDivide: return floor_quotient(a, b);
    case Operation::kModulo: return modulo(a, b);
    case Operation::kPower: return power(a, b);
    case Operation::kMinimum: return std::min(a, b);
    case Operation::kMaximum: return std::max(a, b);
    case Operation::kEqual: return int64_t{a == b};
    case Operation::kNotEqual: return int64_t{a != b};
    case Operation::kLess: return int64_t{a < b};
    default: return int64_t{a <= b};
  }
}

Number on_floats(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::kAdd: return a + b;
    case Operation::kMultiply: return a * b;
    case Operation::kDivide: return a / b;
    case Operation::kFloorDivide: return std::floor(a / b);
    case Operation::kModulo: return a - (b * std::floor(a / b));
    case Operation::kPower: return std::pow(a, b);
    case Operation::kMinimum: return std::min(a, b);
    case Operation::kMaximum: return std::max(a, b);
    case Operation::kEqual: return int64_t{a == b};
    case Operation::kNotEqual: return int64_t{a != b};
    case Operation::kLess: return int64_t{a < b};
    default: return int64_t{a <= b};
  }
}

Number of_two(Operation operation, const Number& a, const Number& b) {
  if (operation == Operation::kAnd) return int64_t{is_true(a) && is_true(b)};
  if (operation == Operation::kOr) return int64_t{is_true(a) || is_true(b)};
  if (is_integer(a) && is_integer(b)) return on_integers(operation, integer_of(a), integer_of(b));
  return on_floats(operation, to_double(a), to_double(b));
}

Number of_one(Operation operation, const Number& a) {
  if (operation == Operation::kNot) return int64_t{!is_true(a)};
  if (operation == Operation::kSquareRoot) return std::sqrt(to_double(a));
  if (operation == Operation::kToFloat) return to_double(a);
  if (is_integer(a)) return a;
  const double value = to_double(a);
  switch (operation) {
    case Operation::kFloor: return rounded(std::floor(value));
    case Operation::kCeiling: return rounded(std::ceil(value));
    case Operation::kTruncate: return rounded(std::trunc(value));
    default: return rounded(std::nearbyint(value));
  }
}

}  // namespace

double to_double(const Number& number) {
  return is_integer(number) ? static_cast<double>(integer_of(number)) : std::get<double>(number);
}

int64_t to_integer(const Number& number) {
  if (is_integer(number)) return integer_of(number);
  refuse("A size that the package works out is ", to_double(number),
         ", which is no integer. Give it inputs of other sizes.");
}

Expression::Expression(std::vector<Term> terms) : terms_(std::move(terms)) { check(); }

Operation Expression::operation_named(std::string_view name) {
  const auto* const found = std::ranges::find(kOperations, name, &Known::name);
  if (found == kOperations.end()) refuse("There is no operation '", name, "' on sizes.");
  return static_cast<Operation>(found - kOperations.begin());
}

void Expression::check() {
  size_t depth = 0;
  symbol_count_ = 0;
  for (const Term& term : terms_) {
    const auto place = static_cast<size_t>(term.operation);
    if (place >= kOperations.size())
      refuse("The package has an operation ", place, " on sizes that there is not.");
    const auto operands = static_cast<size_t>(kOperations[place].operands);
    if (depth < operands || depth - operands >= kDeepest)
      refuse("The package has an expression for a size that is none.");
    depth = depth - operands + 1;
    if (term.operation != Operation::kSymbol) continue;
    if (term.bits < 0 || term.bits >= INT32_MAX)
      refuse("The package names symbol ", term.bits, ", which there is not.");
    symbol_count_ = std::max(symbol_count_, term.bits + 1);
  }
  if (depth != 1) refuse("The package has an expression for a size that is none.");
}

bool Expression::uses(int64_t symbol) const {
  return std::ranges::any_of(terms_, [symbol](const Term& term) {
    return term.operation == Operation::kSymbol && term.bits == symbol;
  });
}

Number Expression::value(std::span<const Number> symbols) const {
  std::array<Number, kDeepest> stack;
  size_t depth = 0;
  for (const Term& term : terms_) {
    switch (term.operation) {
      case Operation::kInteger: stack[depth++] = term.bits; continue;
      case Operation::kFloat: stack[depth++] = std::bit_cast<double>(term.bits); continue;
      case Operation::kSymbol: stack[depth++] = symbols[static_cast<size_t>(term.bits)]; continue;
      case Operation::kSelect:
        depth -= 2;
        stack[depth - 1] = is_true(stack[depth - 1]) ? stack[depth] : stack[depth + 1];
        continue;
      default: break;
    }
    if (kOperations[static_cast<size_t>(term.operation)].operands == 1) {
      stack[depth - 1] = of_one(term.operation, stack[depth - 1]);
    } else {
      --depth;
      stack[depth - 1] = of_two(term.operation, stack[depth - 1], stack[depth]);
    }
  }
  return stack[0];
}

}  // namespace torchplug::package
