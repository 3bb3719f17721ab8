#include <cmath>
#include <iterator>
#include <string>

#include "error.h"
#include "lowering.h"
#include "torchplug/schemas.h"

namespace torchplug::sim::compiler {
namespace {

void unary(Node& n) {
  if (n.type() == Type::kBool) fail(PLUG_UNSUPPORTED, n.name(), " of bool is not compiled.");
  n.set(n.b.apply(n.op().text, n.type(), {n.operand(0, n.type())}, n.op().cost));
}

void binary(Node& n) {
  n.set(n.b.apply(n.op().text, n.type(), {n.operand(0, n.type()), n.operand(1, n.type())}, n.op().cost));
}

// Of a tensor: whether something holds for each element.
void predicate(Node& n) {
  const Tensor self = n.tensor(0);
  n.set(n.b.apply(is_real(self.type) ? n.op().text : "(($0), false)", Type::kBool, {self}));
}

// Whole numbers are compared with a fraction as float64.
Type common_type(const Node& n) {
  const Type self = n.tensor(0).type;
  return !is_real(self) && n.is_fraction(1) ? Type::kF64 : self;
}

void comparison(Node& n) {
  const Type type = common_type(n);
  n.set(n.b.apply(n.op().text, Type::kBool, {n.operand(0, type), n.rounded(1, type)}));
}

void logical(Node& n) {
  std::vector<Tensor> args;
  for (std::size_t i = 0; i < 2 && n.is_given(i); ++i) args.push_back(n.operand(i, Type::kBool));
  n.set(n.b.apply(n.op().text, Type::kBool, args));
}

void bitwise(Node& n) {
  const bool is_bool = n.type() == Type::kBool;
  std::string text = n.op().text;
  if (is_bool && text == "(~$0)") text = "(!$0)";
  std::vector<Tensor> args;
  for (std::size_t i = 0; i < 2 && n.is_given(i); ++i) args.push_back(n.operand(i, n.type()));
  n.set(n.b.apply(text, n.type(), args));
}

// self +- alpha other; a bool is added as "or" by PyTorch.
void add_scaled(Node& n, const char* text) {
  Tensor other = n.operand(1, n.type());
  const bool is_one = n.is_given(2) && n.operand(2, n.type()).expr == n.b.integer(1, n.type()).expr;
  if (n.is_given(2) && !is_one) other = n.b.mul(n.operand(2, n.type()), other);
  n.set(n.b.apply(text, n.type(), {n.operand(0, n.type()), other}));
}

void add(Node& n) { add_scaled(n, "($0 + $1)"); }
void sub(Node& n) { add_scaled(n, "($0 - $1)"); }

void rsub(Node& n) {
  Tensor self = n.operand(0, n.type());
  if (n.is_given(2)) self = n.b.mul(n.operand(2, n.type()), self);
  n.set(n.b.sub(n.operand(1, n.type()), self));
}

// What a division divides by. PyTorch refuses to divide whole numbers by 0.
Tensor divisor(Node& n) {
  Tensor number = n.operand(1, n.type());
  if (is_real(n.type())) return number;
  return n.b.divisor(number, n.shape(), "ZeroDivisionError: " + n.name() + " divides a whole number by 0.");
}

void division(Node& n) {
  n.set(n.b.apply(n.op().text, n.type(), {n.operand(0, n.type()), divisor(n)}, n.op().cost));
}

void divide(Node& n) {
  const Type type = n.type();
  const std::string_view mode = n.text(2);
  const char* text = "($0 / $1)";
  if (mode == "floor") text = "x_floor_divide($0, $1)";
  if (mode == "trunc") text = "x_trunc_divide($0, $1)";
  n.set(n.b.apply(text, type, {n.operand(0, type), divisor(n)}, mode.empty() ? 5 : 12));
}

void power(Node& n) {
  const Type type = n.type();
  const Tensor self = n.operand(0, type);
  const char* text = "x_pow($0, $1)";
  int cost = 40;
  // As PyTorch computes these: exactly.
  struct Known {
    double exponent;
    const char* text;
    int cost;
  };
  constexpr Known kKnown[] = {{2, "($0 * $0)", 1},
                              {3, "($0 * $0 * $0)", 2},
                              {0.5, "x_sqrt($0)", 6},
                              {-0.5, "x_rsqrt($0)", 8},
                              {-1, "(1 / $0)", 5},
                              {-2, "(1 / ($0 * $0))", 6},
                              {1, "$0", 1}};
  const bool is_fixed = n.tensor(0).expr != nullptr && n.is_given(1);
  if (is_fixed && is_real(type)) {
    for (const Known& known : kKnown) {
      if (n.operand(1, Type::kF64).expr == n.b.number(known.exponent, Type::kF64).expr) {
        n.set(n.b.apply(known.text, type, {self}, known.cost));
        return;
      }
    }
  }
  n.set(n.b.apply(text, type, {self, n.operand(1, type)}, cost));
}

// PyTorch refuses whole numbers to negative powers that are whole: eager mode has its words for it.
void power_by_number(Node& n) {
  if (!is_real(n.type()) && n.integer(1) < 0)
    fail(PLUG_UNSUPPORTED, "Integers to the power ", n.integer(1), " are not compiled.");
  power(n);
}

void power_of_number(Node& n) {
  n.set(n.b.apply("x_pow($0, $1)", n.type(), {n.operand(0, n.type()), n.operand(1, n.type())}, 40));
}

void where(Node& n) {
  n.set(n.b.apply("($0 ? $1 : $2)", n.type(),
                  {n.operand(0, Type::kBool), n.operand(1, n.type()), n.operand(2, n.type())}));
}

void clamp(Node& n) {
  Tensor made = n.operand(0, n.type());
  if (n.is_given(1)) made = n.b.apply("x_max($0, $1)", n.type(), {made, n.rounded(1, n.type())});
  if (n.is_given(2)) made = n.b.apply("x_min($0, $1)", n.type(), {made, n.rounded(2, n.type())});
  n.set(made);
}

void clamp_max(Node& n) {
  n.set(n.b.apply("x_min($0, $1)", n.type(), {n.operand(0, n.type()), n.rounded(1, n.type())}));
}

void threshold_backward(Node& n) {
  const Type type = n.type();
  n.set(n.b.apply("($1 <= $2 ? 0 : $0)", type, {n.operand(0, type), n.operand(1, type), n.rounded(2, type)}));
}

void gelu(Node& n) {
  const bool is_tanh = n.text(1) == "tanh";
  n.set(n.b.apply(is_tanh ? "x_gelu_tanh($0)" : "x_gelu($0)", n.type(), {n.operand(0, n.type())}, 24));
}

void gelu_backward(Node& n) {
  const bool is_tanh = n.text(2) == "tanh";
  n.set(n.b.apply(is_tanh ? "($0 * x_gelu_tanh_slope($1))" : "($0 * x_gelu_slope($1))", n.type(),
                  {n.operand(0, n.type()), n.operand(1, n.type())}, 40));
}

void convert_to(Node& n) { n.set_rounded(n.tensor(0)); }
void copy_of(Node& n) { n.set(n.tensor(0)); }
void copy_other(Node& n) { n.set_rounded(n.b.expand(n.tensor(1), n.shape())); }

void lerp(Node& n) {
  const Type type = n.type();
  n.set(
      n.b.apply("x_lerp($0, $1, $2)", type, {n.operand(0, type), n.operand(1, type), n.operand(2, type)}, 5));
}

void addcmul(Node& n) {
  const Type type = n.type();
  n.set(n.b.apply("($0 + $3 * $1 * $2)", type,
                  {n.operand(0, type), n.operand(1, type), n.operand(2, type), n.operand(3, type)}, 3));
}

void addcdiv(Node& n) {
  const Type type = n.type();
  n.set(n.b.apply("($0 + $3 * ($1 / $2))", type,
                  {n.operand(0, type), n.operand(1, type), n.operand(2, type), n.operand(3, type)}, 7));
}

void leaky_relu(Node& n) {
  n.set(n.b.apply("($0 > 0 ? $0 : $0 * $1)", n.type(), {n.operand(0, n.type()), n.operand(1, n.type())}, 2));
}

void elu(Node& n) {
  const Type type = n.type();
  const Tensor low = n.b.mul(n.operand(1, type), n.operand(2, type));
  n.set(n.b.apply("($0 > 0 ? $0 * $1 : x_expm1($0 * $3) * $2)", type,
                  {n.operand(0, type), n.operand(2, type), low, n.operand(3, type)}, 24));
}

constexpr Operator kPointwise[] = {
    {PLUG_SCHEMA_ADD_TENSOR, add},
    {PLUG_SCHEMA_ADD_SCALAR, add},
    {PLUG_SCHEMA_SUB_TENSOR, sub},
    {PLUG_SCHEMA_SUB_SCALAR, sub},
    {PLUG_SCHEMA_RSUB_SCALAR, rsub},
    {PLUG_SCHEMA_RSUB_TENSOR, rsub},
    {PLUG_SCHEMA_MUL_TENSOR, binary, "($0 * $1)"},
    {PLUG_SCHEMA_MUL_SCALAR, binary, "($0 * $1)"},
    {PLUG_SCHEMA_DIV_TENSOR, divide},
    {PLUG_SCHEMA_DIV_SCALAR, divide},
    {PLUG_SCHEMA_DIV_TENSOR_MODE, divide},
    {PLUG_SCHEMA_DIV_SCALAR_MODE, divide},
    {PLUG_SCHEMA_FLOOR_DIVIDE, division, "x_floor_divide($0, $1)", 12},
    {PLUG_SCHEMA_REMAINDER_TENSOR, division, "x_remainder($0, $1)", 12},
    {PLUG_SCHEMA_REMAINDER_SCALAR, division, "x_remainder($0, $1)", 12},
    {PLUG_SCHEMA_FMOD_TENSOR, division, "x_fmod($0, $1)", 12},
    {PLUG_SCHEMA_FMOD_SCALAR, division, "x_fmod($0, $1)", 12},
    {PLUG_SCHEMA_MAXIMUM, binary, "x_max($0, $1)"},
    {PLUG_SCHEMA_MINIMUM, binary, "x_min($0, $1)"},
    {PLUG_SCHEMA_ATAN2, binary, "x_atan2($0, $1)", 40},
    {PLUG_SCHEMA_POW_TENSOR_SCALAR, power_by_number},
    {PLUG_SCHEMA_POW_TENSOR_TENSOR, power},
    {PLUG_SCHEMA_POW_SCALAR, power_of_number},
    {PLUG_SCHEMA_WHERE_SELF, where},
    {PLUG_SCHEMA_CLAMP, clamp},
    {PLUG_SCHEMA_CLAMP_TENSOR, clamp},
    {PLUG_SCHEMA_CLAMP_MIN, clamp},
    {PLUG_SCHEMA_CLAMP_MIN_TENSOR, clamp},
    {PLUG_SCHEMA_CLAMP_MAX, clamp_max},
    {PLUG_SCHEMA_CLAMP_MAX_TENSOR, clamp_max},
    {PLUG_SCHEMA_LERP_SCALAR, lerp},
    {PLUG_SCHEMA_LERP_TENSOR, lerp},
    {PLUG_SCHEMA_ADDCMUL, addcmul},
    {PLUG_SCHEMA_ADDCDIV, addcdiv},
    {PLUG_SCHEMA_EXP, unary, "x_exp($0)", 12},
    {PLUG_SCHEMA_EXP2, unary, "x_exp2($0)", 40},
    {PLUG_SCHEMA_EXPM1, unary, "x_expm1($0)", 20},
    {PLUG_SCHEMA_LOG, unary, "x_log($0)", 14},
    {PLUG_SCHEMA_LOG2, unary, "x_log2($0)", 40},
    {PLUG_SCHEMA_LOG10, unary, "x_log10($0)", 40},
    {PLUG_SCHEMA_LOG1P, unary, "x_log1p($0)", 20},
    {PLUG_SCHEMA_TANH, unary, "x_tanh($0)", 16},
    {PLUG_SCHEMA_ERF, unary, "x_erf($0)", 20},
    {PLUG_SCHEMA_ERFC, unary, "x_erfc($0)", 40},
    {PLUG_SCHEMA_SIGMOID, unary, "x_sigmoid($0)", 16},
    {PLUG_SCHEMA_SILU, unary, "x_silu($0)", 17},
    {PLUG_SCHEMA_SILU_BACKWARD, binary, "($0 * x_silu_slope($1))", 20},
    {PLUG_SCHEMA_SIGMOID_BACKWARD, binary, "($0 * (1 - $1) * $1)", 3},
    {PLUG_SCHEMA_TANH_BACKWARD, binary, "($0 * (1 - $1 * $1))", 3},
    {PLUG_SCHEMA_SIN, unary, "x_sin($0)", 40},
    {PLUG_SCHEMA_COS, unary, "x_cos($0)", 40},
    {PLUG_SCHEMA_TAN, unary, "x_tan($0)", 40},
    {PLUG_SCHEMA_ASIN, unary, "x_asin($0)", 40},
    {PLUG_SCHEMA_ACOS, unary, "x_acos($0)", 40},
    {PLUG_SCHEMA_ATAN, unary, "x_atan($0)", 40},
    {PLUG_SCHEMA_SINH, unary, "x_sinh($0)", 40},
    {PLUG_SCHEMA_COSH, unary, "x_cosh($0)", 40},
    {PLUG_SCHEMA_ASINH, unary, "x_asinh($0)", 40},
    {PLUG_SCHEMA_ACOSH, unary, "x_acosh($0)", 40},
    {PLUG_SCHEMA_ATANH, unary, "x_atanh($0)", 40},
    {PLUG_SCHEMA_SQRT, unary, "x_sqrt($0)", 6},
    {PLUG_SCHEMA_RSQRT, unary, "x_rsqrt($0)", 8},
    {PLUG_SCHEMA_RECIPROCAL, unary, "(1 / $0)", 5},
    {PLUG_SCHEMA_ABS, unary, "x_abs($0)"},
    {PLUG_SCHEMA_NEG, unary, "(-$0)"},
    {PLUG_SCHEMA_SIGN, unary, "(($0 > 0) - ($0 < 0))", 2},
    {PLUG_SCHEMA_FLOOR, unary, "x_floor($0)"},
    {PLUG_SCHEMA_CEIL, unary, "x_ceil($0)"},
    {PLUG_SCHEMA_ROUND, unary, "x_round($0)"},
    {PLUG_SCHEMA_TRUNC, unary, "x_trunc($0)"},
    {PLUG_SCHEMA_RELU, unary, "($0 < 0 ? 0 : $0)"},
    {PLUG_SCHEMA_LEAKY_RELU, leaky_relu},
    {PLUG_SCHEMA_ELU, elu},
    {PLUG_SCHEMA_HARDTANH, clamp},
    {PLUG_SCHEMA_GELU, gelu},
    {PLUG_SCHEMA_GELU_BACKWARD, gelu_backward},
    {PLUG_SCHEMA_THRESHOLD_BACKWARD, threshold_backward},
    {PLUG_SCHEMA_ISNAN, predicate, "($0 != $0)"},
    {PLUG_SCHEMA_ISINF, predicate, "(x_abs($0) == __builtin_inf())"},
    {PLUG_SCHEMA_EQ_TENSOR, comparison, "($0 == $1)"},
    {PLUG_SCHEMA_EQ_SCALAR, comparison, "($0 == $1)"},
    {PLUG_SCHEMA_NE_TENSOR, comparison, "($0 != $1)"},
    {PLUG_SCHEMA_NE_SCALAR, comparison, "($0 != $1)"},
    {PLUG_SCHEMA_LT_TENSOR, comparison, "($0 < $1)"},
    {PLUG_SCHEMA_LT_SCALAR, comparison, "($0 < $1)"},
    {PLUG_SCHEMA_LE_TENSOR, comparison, "($0 <= $1)"},
    {PLUG_SCHEMA_LE_SCALAR, comparison, "($0 <= $1)"},
    {PLUG_SCHEMA_GT_TENSOR, comparison, "($0 > $1)"},
    {PLUG_SCHEMA_GT_SCALAR, comparison, "($0 > $1)"},
    {PLUG_SCHEMA_GE_TENSOR, comparison, "($0 >= $1)"},
    {PLUG_SCHEMA_GE_SCALAR, comparison, "($0 >= $1)"},
    {PLUG_SCHEMA_LOGICAL_AND, logical, "($0 & $1)"},
    {PLUG_SCHEMA_LOGICAL_OR, logical, "($0 | $1)"},
    {PLUG_SCHEMA_LOGICAL_XOR, logical, "($0 ^ $1)"},
    {PLUG_SCHEMA_LOGICAL_NOT, logical, "(!$0)"},
    {PLUG_SCHEMA_BITWISE_AND_TENSOR, bitwise, "($0 & $1)"},
    {PLUG_SCHEMA_BITWISE_AND_SCALAR, bitwise, "($0 & $1)"},
    {PLUG_SCHEMA_BITWISE_OR_TENSOR, bitwise, "($0 | $1)"},
    {PLUG_SCHEMA_BITWISE_OR_SCALAR, bitwise, "($0 | $1)"},
    {PLUG_SCHEMA_BITWISE_XOR_TENSOR, bitwise, "($0 ^ $1)"},
    {PLUG_SCHEMA_BITWISE_XOR_SCALAR, bitwise, "($0 ^ $1)"},
    {PLUG_SCHEMA_BITWISE_NOT, bitwise, "(~$0)"},
    {PLUG_SCHEMA__TO_COPY, convert_to},
    {"prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", convert_to},
    {PLUG_SCHEMA_CLONE, copy_of},
    {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", copy_other},
};

}  // namespace

OperatorList pointwise_operators() { return {kPointwise, std::size(kPointwise)}; }

}  // namespace torchplug::sim::compiler
