#include <iterator>

#include "error.h"
#include "lowering.h"
#include "torchplug/schemas.h"

namespace torchplug::sim::compiler {
namespace {

Poly count_of(const Tensor& tensor, const std::vector<std::size_t>& dims) {
  Poly count = 1;
  for (const std::size_t dim : dims) count = count * tensor.sizes[dim];
  return count;
}

// An argument that PyTorch takes with fractions alone.
Tensor real(Node& n, std::size_t index) {
  if (!is_real(n.tensor(index).type)) fail(PLUG_UNSUPPORTED, n.name(), " of whole numbers is not compiled.");
  return n.widened(index);
}

// Sums, products and extremes: the dims are argument 1, keepdim argument 2; without these, all dims.
void fold(Node& n, Fold how, Type type) {
  const Tensor self = n.tensor(0);
  const bool has_dims = n.op().text != nullptr;
  const std::vector<std::size_t> dims = n.dims(has_dims ? 1 : 99, self.rank());
  n.set(n.b.reduce(how, self, dims, has_dims && n.flag(2), type));
}

void sum(Node& n) { fold(n, Fold::kSum, n.type()); }
void prod(Node& n) { fold(n, Fold::kProduct, n.type()); }

// Of nothing there is none, and PyTorch says so.
void extreme(Node& n, Fold how) {
  const Tensor self = n.tensor(0);
  const std::vector<std::size_t> dims = n.dims(n.op().text != nullptr ? 1 : 99, self.rank());
  if (count_of(self, dims).is(0)) fail(PLUG_UNSUPPORTED, n.name(), " of no elements is not compiled.");
  fold(n, how, n.type());
}

void amax(Node& n) { extreme(n, Fold::kMost); }
void amin(Node& n) { extreme(n, Fold::kLeast); }
void any(Node& n) { fold(n, Fold::kAny, Type::kBool); }
void all(Node& n) { fold(n, Fold::kAll, Type::kBool); }

void mean(Node& n) {
  const Tensor self = n.tensor(0);
  const bool has_dims = n.op().text != nullptr;
  const std::vector<std::size_t> dims = n.dims(has_dims ? 1 : 99, self.rank());
  const Tensor total = n.b.reduce(Fold::kSum, self, dims, has_dims && n.flag(2), n.type());
  n.set(n.b.div(total, n.b.size(count_of(self, dims), n.type())));
}

void variance(Node& n) {
  const bool has_mean = n.op().text != nullptr;
  const Tensor self = real(n, 0);
  const std::vector<std::size_t> dims = n.dims(1, self.rank());
  const Tensor count = n.b.size(count_of(self, dims), self.type);
  const Tensor mean = n.b.div(n.b.reduce(Fold::kSum, self, dims, true, self.type), count);
  const Tensor apart = n.b.sub(self, mean);
  const Tensor total = n.b.reduce(Fold::kSum, n.b.mul(apart, apart), dims, n.flag(3), self.type);
  const Tensor correction = n.is_given(2) ? n.operand(2, self.type) : n.b.number(1, self.type);
  const Tensor divisor = n.b.apply("($0 > $1 ? $0 - $1 : 0)", self.type, {count, correction}, 2);
  n.set(n.b.div(total, divisor));
  if (has_mean && n.is_wanted(1)) n.set(n.b.reshape(mean, n.shape(1)), 1);
}

// The first index of what equals the fold of all, or of NaN.
Tensor index_of(Node& n, const Tensor& self, const Tensor& found, std::size_t dim, bool keep) {
  const Tensor place = n.b.position(self.sizes, dim);
  const Tensor first =
      n.b.apply("($0 == $1 || $0 != $0 ? $2 : 9223372036854775807L)", Type::kI64, {self, found, place}, 3);
  return n.b.reduce(Fold::kLeast, first, {dim}, keep, Type::kI64);
}

void extreme_with_index(Node& n, Fold how) {
  const Tensor self = n.tensor(0);
  if (self.rank() == 0) {
    n.set(self);
    return n.set(n.b.integer(0, Type::kI64), 1);
  }
  const std::size_t dim = n.dim(1, self.rank());
  const Tensor found = n.b.reduce(how, self, {dim}, true, self.type);
  if (n.is_wanted(0)) n.set(n.b.reshape(found, n.shape(0)), 0);
  if (n.is_wanted(1)) n.set(index_of(n, self, found, dim, n.flag(2)), 1);
}

void max_dim(Node& n) { extreme_with_index(n, Fold::kMost); }
void min_dim(Node& n) { extreme_with_index(n, Fold::kLeast); }

void index_of_extreme(Node& n, Fold how) {
  Tensor self = n.tensor(0);
  if (self.type == Type::kBool) fail(PLUG_UNSUPPORTED, n.name(), " of bool is not compiled.");
  const bool is_flat = !n.is_given(1);
  if (is_flat) self = n.b.reshape(self, {product(self.sizes)});
  if (self.rank() == 0) return n.set(n.b.integer(0, Type::kI64));
  const std::size_t dim = is_flat ? 0 : n.dim(1, self.rank());
  const Tensor found = n.b.reduce(how, self, {dim}, true, self.type);
  const Tensor index = index_of(n, self, found, dim, !is_flat && n.flag(2));
  n.set(is_flat ? n.b.reshape(index, n.shape()) : index);
}

void argmax(Node& n) { index_of_extreme(n, Fold::kMost); }
void argmin(Node& n) { index_of_extreme(n, Fold::kLeast); }

struct Exponentials {
  Tensor most, apart, sum;
};

Exponentials exponentials(Node& n, const Tensor& self, std::size_t dim) {
  const Tensor most = n.b.reduce(Fold::kMost, self, {dim}, true, self.type);
  const Tensor apart = n.b.sub(self, most);
  const Tensor powers = n.b.apply("x_exp_down($0)", self.type, {apart}, 12);
  return {most, apart, n.b.reduce(Fold::kSum, powers, {dim}, true, self.type)};
}

void softmax(Node& n) {
  const Tensor self = real(n, 0);
  if (self.rank() == 0) return n.set(n.b.apply("($0 - $0 + 1)", self.type, {self}));
  const Exponentials e = exponentials(n, self, n.dim(1, self.rank()));
  n.set(n.b.div(n.b.apply("x_exp_down($0)", self.type, {e.apart}, 12), e.sum));
}

void log_softmax(Node& n) {
  const Tensor self = real(n, 0);
  if (self.rank() == 0) return n.set(n.b.apply("($0 - $0)", self.type, {self}));
  const Exponentials e = exponentials(n, self, n.dim(1, self.rank()));
  n.set(n.b.sub(e.apart, n.b.apply("x_log($0)", self.type, {e.sum}, 14)));
}

void logsumexp(Node& n) {
  const Tensor self = n.widened(0, computed(n.type()));
  const std::vector<std::size_t> dims = n.dims(1, self.rank());
  const Tensor most = n.b.reduce(Fold::kMost, self, dims, true, self.type);
  const Tensor finite = n.b.apply("(x_abs($0) == __builtin_inf() ? 0 : $0)", self.type, {most}, 2);
  const Tensor powers = n.b.apply("x_exp($0)", self.type, {n.b.sub(self, finite)}, 12);
  const Tensor sum = n.b.reduce(Fold::kSum, powers, dims, true, self.type);
  n.set(n.b.reshape(n.b.add(n.b.apply("x_log($0)", self.type, {sum}, 14), finite), n.shape()));
}

void softmax_backward(Node& n) {
  const Tensor grad = n.widened(0), output = n.widened(1);
  if (grad.rank() == 0) return n.set(n.b.apply("($0 - $0)", grad.type, {grad}));
  const Tensor sum = n.b.reduce(Fold::kSum, n.b.mul(grad, output), {n.dim(2, grad.rank())}, true, grad.type);
  n.set(n.b.mul(output, n.b.sub(grad, sum)));
}

void log_softmax_backward(Node& n) {
  const Tensor grad = n.widened(0), output = n.widened(1);
  if (grad.rank() == 0) return n.set(n.b.apply("($0 - $0)", grad.type, {grad}));
  const Tensor sum = n.b.reduce(Fold::kSum, grad, {n.dim(2, grad.rank())}, true, grad.type);
  n.set(n.b.sub(grad, n.b.mul(n.b.apply("x_exp($0)", grad.type, {output}, 12), sum)));
}

constexpr Operator kReductions[] = {
    {PLUG_SCHEMA_SUM, sum},
    {PLUG_SCHEMA_SUM_DIM_INTLIST, sum, "dims"},
    {PLUG_SCHEMA_MEAN, mean},
    {PLUG_SCHEMA_MEAN_DIM, mean, "dims"},
    {PLUG_SCHEMA_PROD, prod},
    {PLUG_SCHEMA_PROD_DIM_INT, prod, "dims"},
    {PLUG_SCHEMA_AMAX, amax, "dims"},
    {PLUG_SCHEMA_AMIN, amin, "dims"},
    {PLUG_SCHEMA_MAX, amax},
    {PLUG_SCHEMA_MIN, amin},
    {PLUG_SCHEMA_ANY, any},
    {PLUG_SCHEMA_ANY_DIM, any, "dims"},
    {PLUG_SCHEMA_ANY_DIMS, any, "dims"},
    {PLUG_SCHEMA_ALL, all},
    {PLUG_SCHEMA_ALL_DIM, all, "dims"},
    {PLUG_SCHEMA_ALL_DIMS, all, "dims"},
    {PLUG_SCHEMA_MAX_DIM, max_dim},
    {PLUG_SCHEMA_MIN_DIM, min_dim},
    {PLUG_SCHEMA_ARGMAX, argmax},
    {PLUG_SCHEMA_ARGMIN, argmin},
    {PLUG_SCHEMA_VAR_CORRECTION, variance},
    {PLUG_SCHEMA_VAR_MEAN_CORRECTION, variance, "mean"},
    {PLUG_SCHEMA_LOGSUMEXP, logsumexp},
    {PLUG_SCHEMA__SOFTMAX, softmax},
    {PLUG_SCHEMA__LOG_SOFTMAX, log_softmax},
    {PLUG_SCHEMA__SOFTMAX_BACKWARD_DATA, softmax_backward},
    {PLUG_SCHEMA__LOG_SOFTMAX_BACKWARD_DATA, log_softmax_backward},
};

}  // namespace

OperatorList reduction_operators() { return {kReductions, std::size(kReductions)}; }

}  // namespace torchplug::sim::compiler
