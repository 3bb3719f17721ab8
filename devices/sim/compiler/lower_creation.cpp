#include <iterator>

#include "error.h"
#include "lowering.h"
#include "torchplug/schemas.h"

namespace torchplug::sim::compiler {
namespace {

void fill(Node& n, const Tensor& number) { n.set(n.b.expand(number, n.shape())); }

void zeros(Node& n) { fill(n, n.b.number(0, n.type())); }
void ones(Node& n) { fill(n, n.b.number(1, n.type())); }
void first_number(Node& n) { fill(n, n.rounded(0, n.type())); }
void second_number(Node& n) { fill(n, n.rounded(1, n.type())); }
void third_number(Node& n) { fill(n, n.rounded(2, n.type())); }

// start + i step: whole numbers exactly, others in float64, as PyTorch does.
void count_up(Node& n, const Tensor& start, const Tensor& step, Type type) {
  const Tensor place = n.b.widen(n.b.position(n.shape(), 0), type);
  n.set_rounded(n.b.add(n.b.expand(start, n.shape()), n.b.mul(place, step)));
}

Type counted_in(const Node& n) { return is_real(n.type()) ? Type::kF64 : Type::kI64; }

void arange(Node& n) {
  const Type type = counted_in(n);
  count_up(n, n.b.integer(0, type), n.b.integer(1, type), type);
}

void arange_from(Node& n) {
  const Type type = counted_in(n);
  count_up(n, n.operand(0, type), n.b.integer(1, type), type);
}

void arange_by(Node& n) {
  const Type type = counted_in(n);
  count_up(n, n.operand(0, type), n.operand(2, type), type);
}

void iota(Node& n) { count_up(n, n.operand(1, Type::kI64), n.operand(2, Type::kI64), Type::kI64); }

Type drawn_in(Type type) { return type == Type::kF64 ? Type::kF64 : Type::kF32; }

void rand(Node& n) { n.set(n.b.random(n.shape(), n.type())); }

void uniform(Node& n) {
  const Type type = drawn_in(n.type());
  const double from = n.real(1), to = n.real(2);
  if (from > to) fail(PLUG_UNSUPPORTED, n.name(), " from ", from, " to ", to, " is not compiled.");
  n.set(n.b.apply("(($0 * $1 + $2) >= $3 ? $2 : ($0 * $1 + $2))", type,
                  {n.b.random(n.shape(), type), n.b.number(to - from, type), n.b.number(from, type),
                   n.b.number(to, type)},
                  4));
}

// A float32 has 24 bits to compare with: rare results are drawn as float64.
Type compared_in(double p, Type type) {
  constexpr double kLeast = 0x1p-10;
  const bool is_coarse = (p != 0 && p < kLeast) || (p != 1 && 1 - p < kLeast);
  return is_coarse ? Type::kF64 : drawn_in(type);
}

Tensor drawn_below(Node& n, double p, const Shape& sizes, Type type) {
  const Type compared = compared_in(p, type);
  return n.b.apply("($0 < $1)", Type::kBool, {n.b.random(sizes, compared), n.b.number(p, compared)});
}

// Others PyTorch refuses.
double probability(Node& n) {
  const double p = n.real(1);
  if (!(p >= 0 && p <= 1))
    fail(PLUG_UNSUPPORTED, n.name(), " with a probability of ", p, " is not compiled.");
  return p;
}

void bernoulli_p(Node& n) { n.set(drawn_below(n, probability(n), n.shape(), n.type())); }

void bernoulli(Node& n) {
  const Type type = drawn_in(n.type());
  n.set(n.b.apply("($0 < $1)", Type::kBool, {n.b.random(n.shape(), type), n.widened(0, type)}));
}

void dropout(Node& n) {
  const Tensor self = n.widened(0);
  const double p = probability(n);
  const bool trains = !n.is_given(2) || n.flag(2);
  if (!trains || p == 0) {
    n.set(self);
    return n.set(n.b.integer(1, Type::kBool, self.sizes), 1);
  }
  const Tensor mask = p == 1 ? n.b.integer(0, Type::kBool, self.sizes)
                             : n.b.realised(drawn_below(n, 1 - p, self.sizes, n.tensor(0).type));
  const Tensor factor =
      n.b.apply("($0 ? $1 : 0)", self.type, {mask, n.b.number(p == 1 ? 0 : 1 / (1 - p), self.type)});
  n.set(n.b.mul(self, factor));
  n.set(mask, 1);
}

void dropout_backward(Node& n) {
  const Tensor factor = n.b.mul(n.operand(1, n.type()), n.operand(2, n.type()));
  n.set(n.b.mul(n.operand(0, n.type()), factor));
}

constexpr Operator kCreation[] = {
    {PLUG_SCHEMA_FULL, second_number},
    {PLUG_SCHEMA_FULL_LIKE, second_number},
    {PLUG_SCHEMA_NEW_FULL, third_number},
    {PLUG_SCHEMA_FILL_SCALAR, second_number},
    {PLUG_SCHEMA_SCALAR_TENSOR, first_number},
    {PLUG_SCHEMA_ZEROS, zeros},
    {PLUG_SCHEMA_ZEROS_LIKE, zeros},
    {PLUG_SCHEMA_NEW_ZEROS, zeros},
    {PLUG_SCHEMA_ONES, ones},
    {PLUG_SCHEMA_ONES_LIKE, ones},
    {PLUG_SCHEMA_NEW_ONES, ones},
    {"aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     zeros},
    {"aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     zeros},
    {"aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     zeros},
    {"aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? "
     "layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     zeros},
    {"aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     zeros},
    {PLUG_SCHEMA_ARANGE, arange},
    {PLUG_SCHEMA_ARANGE_START, arange_from},
    {PLUG_SCHEMA_ARANGE_START_STEP, arange_by},
    {"prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool "
     "requires_grad) -> Tensor",
     iota},
    {PLUG_SCHEMA_RAND, rand},
    {PLUG_SCHEMA_RAND_LIKE, rand},
    {"aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor",
     uniform},
    {PLUG_SCHEMA_BERNOULLI, bernoulli},
    {PLUG_SCHEMA_BERNOULLI_P, bernoulli_p},
    {PLUG_SCHEMA_NATIVE_DROPOUT, dropout},
    {PLUG_SCHEMA_NATIVE_DROPOUT_BACKWARD, dropout_backward},
};

}  // namespace

OperatorList creation_operators() { return {kCreation, std::size(kCreation)}; }

}  // namespace torchplug::sim::compiler
