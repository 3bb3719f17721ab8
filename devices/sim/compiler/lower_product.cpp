#include <cmath>
#include <iterator>

#include "error.h"
#include "lowering.h"
#include "torchplug/schemas.h"
#include "windows.h"

namespace torchplug::sim::compiler {
namespace {

using Dims = std::vector<std::size_t>;

// In memory, in the type that is computed with: each element is used many times.
Tensor cheap(Node& n, const Tensor& tensor) {
  const bool is_loaded = tensor.expr->kind == Expr::Kind::kLoad && tensor.expr->args.empty();
  if (is_loaded &&
      n.b.program().buffers[static_cast<std::size_t>(tensor.expr->buffer)].type == computed(tensor.type))
    return tensor;
  return n.b.copied({computed(tensor.type), tensor.sizes, tensor.expr});
}

Tensor swapped(Node& n, const Tensor& self) {
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < self.rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return n.b.permute(self, order);
}

// [..., M, K] x [..., K, N]
Tensor matmul(Node& n, const Tensor& a, const Tensor& b) {
  const Type type = computed(a.type);
  const Tensor left = n.b.unsqueeze(cheap(n, n.b.widen(a, type)), a.rank() - 1);
  const Tensor right = n.b.unsqueeze(swapped(n, cheap(n, n.b.widen(b, type))), b.rank() - 2);
  const Tensor products = n.b.mul(left, right);
  return n.b.reduce(Fold::kSum, products, {products.rank() - 1}, false, type);
}

// beta self + alpha product, where self counts for nothing with beta 0.
void set_sum(Node& n, Tensor product, std::size_t beta, std::size_t alpha) {
  const Type type = product.type;
  if (n.is_given(alpha) && n.real(alpha) != 1) product = n.b.mul(product, n.operand(alpha, type));
  const double factor = n.is_given(beta) ? n.real(beta) : 1;
  if (factor == 0) return n.set(product);
  Tensor self = n.widened(0, type);
  if (factor != 1) self = n.b.mul(self, n.operand(beta, type));
  n.set(n.b.add(self, product));
}

void product(Node& n) { n.set(matmul(n, n.tensor(0), n.tensor(1))); }
void added_product(Node& n) { set_sum(n, matmul(n, n.tensor(1), n.tensor(2)), 3, 4); }

void matrix_vector(Node& n) {
  const Tensor made = matmul(n, n.tensor(0), n.b.unsqueeze(n.tensor(1), 1));
  n.set(n.b.select(made, 1, 0));
}

void dot(Node& n) {
  const Tensor a = n.widened(0), b = n.widened(1);
  n.set(n.b.reduce(Fold::kSum, n.b.mul(a, b), {0}, false, a.type));
}

void linear(Node& n) {
  const Tensor self = n.tensor(0);
  Tensor made = matmul(n, self.rank() == 1 ? n.b.unsqueeze(self, 0) : self, n.b.permute(n.tensor(1), {1, 0}));
  if (self.rank() == 1) made = n.b.select(made, 0, 0);
  if (n.is_given(2)) made = n.b.add(made, n.widened(2, made.type));
  n.set(made);
}

// ---- Convolutions. ----

// A dim that groups share, as two: group, and place in the group.
Tensor grouped(Node& n, const Tensor& self, std::size_t dim, std::int64_t groups) {
  const auto size = self.sizes[dim].number();
  if (!size) fail(PLUG_UNSUPPORTED, "Channels whose number is not fixed are not compiled.");
  Shape sizes = self.sizes;
  sizes[dim] = groups;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim) + 1, Poly(*size / groups));
  return n.b.reshape(self, sizes);
}

// Sums over channels and kernel: x is [N, G, C, counts, kernel], w is [G, O, C, kernel]; gives [N, G O,
// counts].
Tensor convolved(Node& n, const Tensor& x, const Tensor& w, std::size_t spatial) {
  const Tensor wide = n.b.unsqueeze(x, 2);  // [N, G, 1, C, counts, kernel]
  Tensor weight = w;
  for (std::size_t d = 0; d < spatial; ++d) weight = n.b.unsqueeze(weight, 3);  // [G, O, C, 1..., kernel]
  const Tensor products = n.b.mul(wide, weight);
  Dims dims = {3};
  for (std::size_t d = 0; d < spatial; ++d) dims.push_back(4 + spatial + d);
  const Tensor sums = n.b.reduce(Fold::kSum, products, dims, false, x.type, true);
  Shape sizes = {sums.sizes[0], sums.sizes[1] * sums.sizes[2]};
  sizes.insert(sizes.end(), sums.sizes.begin() + 3, sums.sizes.end());
  return n.b.reshape(sums, sizes);
}

struct Convolution {
  Windows windows;
  bool transposed;
  std::int64_t groups;
};

Convolution read_convolution(Node& n, const Tensor& weight, std::size_t first) {
  const std::size_t rank = weight.rank() - 2;
  Convolution made;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto size = weight.sizes[2 + d].number();
    if (!size) fail(PLUG_UNSUPPORTED, "A kernel whose size is not fixed is not compiled.");
    made.windows.kernel.push_back(*size);
  }
  made.windows.stride = per_dim(n, first, rank, 1);
  made.windows.padding = per_dim(n, first + 1, rank, 0);
  made.windows.dilation = per_dim(n, first + 2, rank, 1);
  made.transposed = n.flag(first + 3);
  made.groups = n.integer(first + 5);
  return made;
}

Shape spatial_sizes(const Shape& sizes) { return {sizes.begin() + 2, sizes.end()}; }

// [G, O, C, kernel] of [G O, C, kernel], or of [G C, O, kernel] with the channels swapped.
Tensor weight_by_group(Node& n, const Tensor& weight, std::int64_t groups, bool is_swapped) {
  Tensor made = grouped(n, weight, 0, groups);
  return is_swapped ? n.b.transpose(made, 1, 2) : made;
}

Tensor forward(Node& n, const Tensor& x, const Tensor& weight, const Convolution& c, const Shape& counts) {
  const Tensor around = grouped(n, surrounded(n, x, c.windows, counts, 0), 1, c.groups);
  return convolved(n, seen(n, around, c.windows, counts), weight_by_group(n, weight, c.groups, false),
                   c.windows.rank());
}

// The transposed one, which is the gradient of the other.
Tensor backward(Node& n, const Tensor& grad, const Tensor& weight, const Convolution& c, const Shape& sizes) {
  const Tensor around = grouped(n, spread(n, grad, c.windows, sizes), 1, c.groups);
  return convolved(n, reached(n, around, c.windows, sizes), weight_by_group(n, weight, c.groups, true),
                   c.windows.rank());
}

void convolution(Node& n) {
  const Type type = computed(n.type());
  const Tensor x = n.widened(0, type), weight = cheap(n, n.widened(1, type));
  const Convolution c = read_convolution(n, weight, 3);
  const Shape counts = spatial_sizes(n.shape());
  Tensor made = c.transposed ? backward(n, x, weight, c, counts) : forward(n, x, weight, c, counts);
  if (n.is_given(2)) {
    Shape sizes(made.rank(), Poly(1));
    sizes[1] = made.sizes[1];
    made = n.b.add(made, n.b.reshape(n.widened(2, type), sizes));
  }
  n.set(made);
}

// [G O, C, kernel]: sums of grad [N, G O, counts] times what the windows see of x.
Tensor weight_gradient(Node& n, const Tensor& grad, const Tensor& x, const Convolution& c,
                       std::size_t result) {
  const std::size_t spatial = c.windows.rank();
  const Shape counts = spatial_sizes(grad.sizes);
  const Tensor around = grouped(n, surrounded(n, x, c.windows, counts, 0), 1, c.groups);
  const Tensor views = n.b.unsqueeze(seen(n, around, c.windows, counts), 2);  // [N, G, 1, C, counts, kernel]
  Tensor by_group = n.b.unsqueeze(grouped(n, grad, 1, c.groups), 3);          // [N, G, O, 1, counts]
  for (std::size_t d = 0; d < spatial; ++d) by_group = n.b.unsqueeze(by_group, by_group.rank());
  Dims dims = {0};
  for (std::size_t d = 0; d < spatial; ++d) dims.push_back(4 + d);
  return n.b.reshape(n.b.reduce(Fold::kSum, n.b.mul(views, by_group), dims, false, grad.type),
                     n.shape(result));
}

void convolution_backward(Node& n) {
  const Tensor grad = cheap(n, n.widened(0)), x = cheap(n, n.widened(1, grad.type));
  const Tensor weight = cheap(n, n.widened(2, grad.type));
  const Convolution c = read_convolution(n, weight, 4);
  if (n.is_wanted(0)) {
    const Shape sizes = spatial_sizes(x.sizes);
    n.set(c.transposed ? forward(n, grad, weight, c, sizes) : backward(n, grad, weight, c, sizes), 0);
  }
  if (n.is_wanted(1)) {
    n.set(c.transposed ? weight_gradient(n, x, grad, c, 1) : weight_gradient(n, grad, x, c, 1), 1);
  }
  if (!n.is_wanted(2)) return;
  Dims dims = {0};
  for (std::size_t d = 2; d < grad.rank(); ++d) dims.push_back(d);
  n.set(n.b.reduce(Fold::kSum, grad, dims, false, grad.type), 2);
}

// ---- Attention. ----

// Where several heads of queries share one of keys, queries are [..., heads of keys, group, T, D], and keys
// and values [..., heads of keys, 1, S, D].
struct Attention {
  Tensor query, key, value;
  double scale;
  std::int64_t group;  // heads of queries for each of keys
};

std::int64_t group_of(const Tensor& query, const Tensor& key, const Tensor& value) {
  if (query.rank() < 3) return 1;
  const std::size_t heads = query.rank() - 3;
  if (query.sizes[heads] == key.sizes[heads] && query.sizes[heads] == value.sizes[heads]) return 1;
  const auto queries = query.sizes[heads].number(), keys = key.sizes[heads].number();
  const bool is_whole =
      queries && keys && *keys != 0 && *queries % *keys == 0 && key.sizes[heads] == value.sizes[heads];
  if (!is_whole)
    fail(PLUG_UNSUPPORTED,
         "Attention whose heads of queries are no fixed multiple of those of keys and values "
         "is not compiled.");
  return *queries / *keys;
}

// The dim `heads` as two: heads of keys, and place in the group.
Tensor by_group(Node& n, const Tensor& self, std::size_t heads, std::int64_t group) {
  if (group == 1) return self;
  if (self.sizes[heads].is(1)) return n.b.unsqueeze(self, heads + 1);  // the same for all heads
  return grouped(n, self, heads, self.sizes[heads].number().value_or(group) / group);
}

// Back again: of the shape of a result.
void set_by_head(Node& n, const Tensor& self, const Attention& a, std::size_t result) {
  if (n.is_wanted(result)) n.set(a.group == 1 ? self : n.b.reshape(self, n.shape(result)), result);
}

Attention read_attention(Node& n, std::size_t first, std::size_t scale) {
  const Tensor query = cheap(n, n.widened(first)), key = cheap(n, n.widened(first + 1)),
               value = cheap(n, n.widened(first + 2));
  const auto width = query.sizes.back().number();
  if (!n.is_given(scale) && !width)
    fail(PLUG_UNSUPPORTED, "Attention over heads whose width is not fixed is not compiled.");
  const double factor =
      n.is_given(scale) ? n.real(scale) : 1 / std::sqrt(static_cast<double>(width.value_or(1)));
  const std::int64_t group = group_of(query, key, value);
  if (group == 1) return {query, key, value, factor, group};
  const std::size_t heads = query.rank() - 3;
  return {by_group(n, query, heads, group), n.b.unsqueeze(key, heads + 1), n.b.unsqueeze(value, heads + 1),
          factor, group};
}

// Scaled products of queries and keys, with what must not be seen at minus infinity.
Tensor scores(Node& n, const Attention& a, std::size_t causal, std::size_t mask) {
  const Type type = a.query.type;
  Tensor made = n.b.mul(matmul(n, a.query, swapped(n, a.key)), n.b.number(a.scale, type));
  const std::size_t rank = made.rank();
  if (n.flag(causal)) {
    made = n.b.apply("($1 <= $2 ? $0 : -__builtin_inff())", type,
                     {made, n.b.position(made.sizes, rank - 1), n.b.position(made.sizes, rank - 2)}, 2);
  }
  if (!n.is_given(mask)) return made;
  Tensor given = n.tensor(mask);
  if (given.rank() >= 3) given = by_group(n, given, given.rank() - 3, a.group);
  if (given.type == Type::kBool) return n.b.apply("($1 ? $0 : -__builtin_inff())", type, {made, given});
  return n.b.add(made, n.b.widen(given, type));
}

struct Weights {
  Tensor weights, logsumexp;
};

// Who sees nothing gets 0.
Weights softmax_of(Node& n, const Tensor& scores) {
  const std::size_t last = scores.rank() - 1;
  const Type type = scores.type;
  const Tensor found = n.b.reduce(Fold::kMost, scores, {last}, true, type);
  const Tensor most = n.b.apply("($0 == -__builtin_inff() ? 0 : $0)", type, {found});
  const Tensor powers = n.b.apply("x_exp_down($0)", type, {n.b.sub(scores, most)}, 12);
  const Tensor total = n.b.reduce(Fold::kSum, powers, {last}, true, type);
  const Tensor sum = n.b.apply("($0 == 0 ? 1 : $0)", type, {total});
  return {n.b.div(powers, sum), n.b.add(most, n.b.apply("x_log($0)", type, {sum}, 14))};
}

void refuse_dropout(const Node& n, std::size_t arg) {
  if (n.is_given(arg) && n.real(arg) != 0) fail(PLUG_UNSUPPORTED, "Attention with dropout is not compiled.");
}

void flash_attention(Node& n) {
  refuse_dropout(n, 3);
  const Attention a = read_attention(n, 0, 6);
  const Weights w = softmax_of(n, scores(n, a, 4, 5));
  set_by_head(n, matmul(n, w.weights, a.value), a, 0);
  if (n.is_wanted(1)) n.set(n.b.reshape(w.logsumexp, n.shape(1)), 1);
}

void attention(Node& n) {
  refuse_dropout(n, 4);
  const Attention a = read_attention(n, 0, 6);
  set_by_head(n, matmul(n, softmax_of(n, scores(n, a, 5, 3)).weights, a.value), a, 0);
}

// Of each head of keys, what the queries that share it have.
Tensor summed_by_group(Node& n, const Tensor& self, const Attention& a) {
  if (a.group == 1) return self;
  return n.b.reduce(Fold::kSum, self, {self.rank() - 3}, false, self.type);
}

void flash_attention_backward(Node& n) {
  refuse_dropout(n, 6);
  const Attention a = read_attention(n, 1, 9);
  const Type type = a.query.type;
  const std::size_t heads = n.tensor(0).rank() - 3;
  const Tensor grad = by_group(n, cheap(n, n.widened(0)), heads, a.group);
  const Tensor out = by_group(n, n.widened(4), heads, a.group);
  const Tensor logsumexp = n.b.unsqueeze(by_group(n, n.widened(5, type), heads, a.group), grad.rank() - 1);
  const Tensor weights =
      n.b.realised(n.b.apply("x_exp($0)", type, {n.b.sub(scores(n, a, 7, 8), logsumexp)}, 12));
  const Tensor sums = n.b.reduce(Fold::kSum, n.b.mul(grad, out), {grad.rank() - 1}, true, type);
  const Tensor above = matmul(n, grad, swapped(n, a.value));
  const Tensor inner = n.b.mul(n.b.mul(weights, n.b.sub(above, sums)), n.b.number(a.scale, type));
  const Tensor slope = n.b.realised(inner);
  if (n.is_wanted(0)) set_by_head(n, matmul(n, slope, a.key), a, 0);
  if (n.is_wanted(1)) n.set(summed_by_group(n, matmul(n, swapped(n, slope), a.query), a), 1);
  if (n.is_wanted(2)) n.set(summed_by_group(n, matmul(n, swapped(n, weights), grad), a), 2);
}

constexpr Operator whole(const char* schema, void (*lower)(Node&)) {
  return {schema, lower, nullptr, 1, true};
}

constexpr Operator kProducts[] = {
    whole(PLUG_SCHEMA_MM, product),
    whole(PLUG_SCHEMA_BMM, product),
    whole(PLUG_SCHEMA_ADDMM, added_product),
    whole(PLUG_SCHEMA_BADDBMM, added_product),
    whole(PLUG_SCHEMA_MV, matrix_vector),
    whole(PLUG_SCHEMA_DOT, dot),
    whole(PLUG_SCHEMA_LINEAR, linear),
    whole(PLUG_SCHEMA_CONVOLUTION, convolution),
    whole(PLUG_SCHEMA_CONVOLUTION_BACKWARD, convolution_backward),
    whole("aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float "
          "dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor "
          "output, "
          "Tensor logsumexp)",
          flash_attention),
    whole(PLUG_SCHEMA__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD, flash_attention_backward),
    whole(
        "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
        "float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
        attention),
};

}  // namespace

OperatorList product_operators() { return {kProducts, std::size(kProducts)}; }

}  // namespace torchplug::sim::compiler
