#include <iterator>
#include <limits>

#include "error.h"
#include "lowering.h"
#include "torchplug/schemas.h"
#include "windows.h"

namespace torchplug::sim::compiler {
namespace {

Windows read_pool(Node& n, std::size_t first, bool dilates) {
  Windows made;
  made.kernel = per_dim(n, first, 2, 1);
  made.stride =
      n.is_given(first + 1) && !n.sizes(first + 1).empty() ? per_dim(n, first + 1, 2, 1) : made.kernel;
  made.padding = per_dim(n, first + 2, 2, 0);
  made.dilation = dilates ? per_dim(n, first + 3, 2, 1) : std::vector<std::int64_t>{1, 1};
  return made;
}

Shape last_two(const Shape& sizes) { return {sizes.end() - 2, sizes.end()}; }

// Where place k of window o lies along a dim of the tensor, padding counted as before 0 or beyond the end.
Tensor place_along(Node& n, const Shape& sizes, std::size_t rank, std::size_t d, const Windows& w) {
  const std::size_t o = rank - 2 + d, k = rank + d;
  const Tensor window = n.b.mul(n.b.position(sizes, o), n.b.integer(w.stride[d], Type::kI64));
  const Tensor inside = n.b.mul(n.b.position(sizes, k), n.b.integer(w.dilation[d], Type::kI64));
  return n.b.sub(n.b.add(window, inside), n.b.integer(w.padding[d], Type::kI64));
}

void max_pool(Node& n) {
  const Tensor self = n.widened(0);
  const Windows w = read_pool(n, 1, true);
  const Shape counts = last_two(n.is_wanted(0) ? n.shape(0) : n.shape(1));
  const std::size_t rank = self.rank();
  const Tensor views =
      seen(n, surrounded(n, self, w, counts, -std::numeric_limits<double>::infinity()), w, counts);
  const Tensor most = n.b.reduce(Fold::kMost, views, {rank, rank + 1}, true, self.type);
  n.set(n.b.reshape(most, n.is_wanted(0) ? n.shape(0) : n.shape(1)));
  if (!n.is_wanted(1)) return;
  const Tensor y = place_along(n, views.sizes, rank, 0, w), x = place_along(n, views.sizes, rank, 1, w);
  const Tensor height = n.b.size(self.sizes[rank - 2], Type::kI64),
               width = n.b.size(self.sizes[rank - 1], Type::kI64);
  const Tensor index = n.b.apply(
      "(($0 == $1 || $0 != $0) && $2 >= 0 && $2 < $4 && $3 >= 0 && $3 < $5 ? $2 * $5 + $3 : "
      "9223372036854775807L)",
      Type::kI64, {views, most, y, x, height, width}, 8);
  n.set(n.b.reduce(Fold::kLeast, index, {rank, rank + 1}, false, Type::kI64), 1);
}

void max_pool_backward(Node& n) {
  const Tensor grad = n.widened(0), index = n.tensor(7);
  const Shape result = n.shape(), planes(result.begin(), result.end() - 2);
  const auto flat = [&](const Shape& sizes) {
    Shape made = planes;
    made.push_back(sizes[sizes.size() - 2] * sizes[sizes.size() - 1]);
    return made;
  };
  const Shape to = flat(result), from = flat(grad.sizes);
  const int buffer = n.b.scratch(grad.type, to);
  const std::vector<Poly> strides = n.b.program().buffers[static_cast<std::size_t>(buffer)].strides;
  n.b.store(n.b.number(0, grad.type, to), buffer, {0, strides}, false);
  Affine place{0, strides};
  place.coefs.back() = 0;
  const Tensor position =
      n.b.checked(n.b.reshape(index, from), to.back(), false, "An index of max_pool2d is out of range.");
  n.b.scatter(n.b.reshape(grad, from), buffer, place, {position}, {1}, true);
  n.set(n.b.reshape(n.b.load(buffer), n.shape()));
}

// How many elements the mean of each window is over.
Tensor divisor(Node& n, const Windows& w, const Shape& counts, const Shape& sizes, std::size_t first,
               Type type) {
  const std::size_t override = first + 5, includes = first + 4;
  if (n.is_given(override)) return n.b.integer(n.integer(override), type);
  Tensor count = n.b.integer(1, Type::kI64);
  for (std::size_t d = 0; d < 2; ++d) {
    const Tensor place = n.b.mul(n.b.position(counts, d), n.b.integer(w.stride[d], Type::kI64));
    const Tensor start = n.b.sub(place, n.b.integer(w.padding[d], Type::kI64));
    const Tensor size = n.b.size(sizes[d], Type::kI64), pad = n.b.integer(w.padding[d], Type::kI64);
    const char* const text = n.flag(includes) ? "(x_min($0 + $3, $1 + $2) - $0)"
                                              : "(x_min(x_min($0 + $3, $1 + $2), $1) - x_max($0, 0L))";
    count = n.b.mul(count,
                    n.b.apply(text, Type::kI64, {start, size, pad, n.b.integer(w.kernel[d], Type::kI64)}, 4));
  }
  return n.b.widen(count, type);
}

void average_pool(Node& n) {
  const Tensor self = n.widened(0);
  const Windows w = read_pool(n, 1, false);
  const Shape counts = last_two(n.shape());
  const Tensor views = seen(n, surrounded(n, self, w, counts, 0), w, counts);
  const Tensor sums = n.b.reduce(Fold::kSum, views, {self.rank(), self.rank() + 1}, false, self.type);
  n.set(n.b.div(sums, divisor(n, w, counts, last_two(self.sizes), 1, self.type)));
}

void average_pool_backward(Node& n) {
  const Tensor grad = n.widened(0);
  const Windows w = read_pool(n, 2, false);
  const Shape sizes = last_two(n.shape()), counts = last_two(grad.sizes);
  const Tensor shares = n.b.div(grad, divisor(n, w, counts, sizes, 2, grad.type));
  const Tensor views = reached(n, spread(n, shares, w, sizes), w, sizes);
  n.set(n.b.reduce(Fold::kSum, views, {grad.rank(), grad.rank() + 1}, false, grad.type));
}

// Blocks of an image: [leading..., H, h, W, w] where the larger is [H h, W w].
struct Blocks {
  Shape sizes;
  std::int64_t each;
};

Blocks blocks(const Shape& large, const Shape& small) {
  Blocks made{{large.begin(), large.end() - 2}, 1};
  for (std::size_t d = large.size() - 2; d < large.size(); ++d) {
    const auto has = large[d].number(), takes = small[d].number();
    if (!has || !takes || *takes == 0 || *has % *takes != 0)
      fail(PLUG_UNSUPPORTED, "Images that are not whole multiples of each other are not compiled.");
    made.sizes.push_back(small[d]);
    made.sizes.emplace_back(*has / *takes);
    made.each *= *has / *takes;
  }
  return made;
}

void adaptive_average(Node& n) {
  const Tensor self = n.widened(0);
  const Blocks b = blocks(self.sizes, n.shape());
  const std::size_t rank = b.sizes.size();
  const Tensor sums =
      n.b.reduce(Fold::kSum, n.b.reshape(self, b.sizes), {rank - 3, rank - 1}, false, self.type);
  n.set(n.b.div(sums, n.b.integer(b.each, self.type)));
}

// Each of small images, as often as the blocks of a large one are large.
Tensor repeated(Node& n, const Tensor& small, const Blocks& b, const Shape& large) {
  const Tensor wide = n.b.unsqueeze(n.b.unsqueeze(small, small.rank() - 1), small.rank() + 1);
  return n.b.reshape(n.b.expand(wide, b.sizes), large);
}

void adaptive_average_backward(Node& n) {
  const Tensor grad = n.widened(0);
  const Blocks b = blocks(n.shape(), grad.sizes);
  n.set(repeated(n, n.b.div(grad, n.b.integer(b.each, grad.type)), b, n.shape()));
}

void upsample(Node& n) {
  const Tensor self = n.tensor(0);
  n.set(repeated(n, self, blocks(n.shape(), self.sizes), n.shape()));
}

void upsample_backward(Node& n) {
  const Tensor grad = n.widened(0);
  const Blocks b = blocks(grad.sizes, n.shape());
  const std::size_t rank = b.sizes.size();
  n.set(n.b.reduce(Fold::kSum, n.b.reshape(grad, b.sizes), {rank - 3, rank - 1}, false, grad.type));
}

constexpr Operator whole_pool(const char* schema, void (*lower)(Node&)) {
  return {schema, lower, nullptr, 1, true};
}

constexpr Operator kPooling[] = {
    whole_pool(PLUG_SCHEMA_MAX_POOL2D_WITH_INDICES, max_pool),
    whole_pool(PLUG_SCHEMA_MAX_POOL2D_WITH_INDICES_BACKWARD, max_pool_backward),
    whole_pool(PLUG_SCHEMA_AVG_POOL2D, average_pool),
    whole_pool(PLUG_SCHEMA_AVG_POOL2D_BACKWARD, average_pool_backward),
    whole_pool(PLUG_SCHEMA__ADAPTIVE_AVG_POOL2D, adaptive_average),
    whole_pool(PLUG_SCHEMA__ADAPTIVE_AVG_POOL2D_BACKWARD, adaptive_average_backward),
    whole_pool(PLUG_SCHEMA_UPSAMPLE_NEAREST2D, upsample),
    whole_pool(PLUG_SCHEMA_UPSAMPLE_NEAREST2D_BACKWARD, upsample_backward),
};

}  // namespace

OperatorList pooling_operators() { return {kPooling, std::size(kPooling)}; }

}  // namespace torchplug::sim::compiler
