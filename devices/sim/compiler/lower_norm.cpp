#include <iterator>
#include <limits>

#include "error.h"
#include "lowering.h"
#include "torchplug/schemas.h"

namespace torchplug::sim::compiler {
namespace {

using Dims = std::vector<std::size_t>;

Dims range(std::size_t begin, std::size_t end) {
  Dims made;
  for (std::size_t d = begin; d < end; ++d) made.push_back(d);
  return made;
}

Poly count_along(const Tensor& tensor, const Dims& dims) {
  Poly count = 1;
  for (const std::size_t dim : dims) count = count * tensor.sizes[dim];
  return count;
}

Tensor mean_of(Node& n, const Tensor& tensor, const Dims& dims) {
  const Tensor sum = n.b.reduce(Fold::kSum, tensor, dims, true, tensor.type);
  return n.b.div(sum, n.b.size(count_along(tensor, dims), tensor.type));
}

struct Moments {
  Tensor mean, variance, rstd;
};

Tensor rstd_of(Node& n, const Tensor& variance, double eps) {
  return n.b.apply("x_rsqrt($0)", variance.type, {n.b.add(variance, n.b.number(eps, variance.type))}, 8);
}

// Over two passes, so that digits do not cancel.
Moments moments(Node& n, const Tensor& self, const Dims& dims, double eps) {
  const Tensor mean = mean_of(n, self, dims);
  const Tensor apart = n.b.sub(self, mean);
  const Tensor variance = mean_of(n, n.b.mul(apart, apart), dims);
  return {mean, variance, rstd_of(n, variance, eps)};
}

Tensor normalised(Node& n, const Tensor& self, const Tensor& mean, const Tensor& rstd) {
  return n.b.mul(n.b.sub(self, mean), rstd);
}

// self weight + bias, where these are given in the shape `sizes`.
Tensor scaled(Node& n, Tensor self, std::size_t weight, std::size_t bias, const Shape& sizes) {
  if (n.is_given(weight)) self = n.b.mul(self, n.b.reshape(n.widened(weight, self.type), sizes));
  if (n.is_given(bias)) self = n.b.add(self, n.b.reshape(n.widened(bias, self.type), sizes));
  return self;
}

void set_reshaped(Node& n, const Tensor& tensor, std::size_t result) {
  if (n.is_wanted(result)) n.set(n.b.reshape(tensor, n.shape(result)), result);
}

// The gradient of what was normalised over `dims`, of which `grad` is that of the normalised values.
Tensor gradient(Node& n, const Tensor& grad, const Tensor& unit, const Tensor& rstd, const Dims& dims,
                bool centred) {
  Tensor rest = n.b.sub(grad, n.b.mul(unit, mean_of(n, n.b.mul(grad, unit), dims)));
  if (centred) rest = n.b.sub(rest, mean_of(n, grad, dims));
  return n.b.mul(rest, rstd);
}

void layer_norm(Node& n) {
  const Tensor self = n.widened(0);
  const std::size_t first = self.rank() - n.sizes(1).size();
  const Moments m = moments(n, self, range(first, self.rank()), n.real(4));
  const Shape sizes(self.sizes.begin() + static_cast<std::ptrdiff_t>(first), self.sizes.end());
  n.set(scaled(n, normalised(n, self, m.mean, m.rstd), 2, 3, sizes));
  set_reshaped(n, m.mean, 1);
  set_reshaped(n, m.rstd, 2);
}

void layer_norm_backward(Node& n) {
  const Tensor grad = n.widened(0), self = n.widened(1);
  const std::size_t first = self.rank() - n.sizes(2).size();
  const Shape sizes(self.sizes.begin() + static_cast<std::ptrdiff_t>(first), self.sizes.end());
  Shape ones = self.sizes;
  for (std::size_t d = first; d < ones.size(); ++d) ones[d] = 1;
  const Tensor mean = n.b.reshape(n.widened(3, self.type), ones),
               rstd = n.b.reshape(n.widened(4, self.type), ones);
  const Tensor unit = normalised(n, self, mean, rstd);
  const Tensor weighted = n.is_given(5) ? n.b.mul(grad, n.b.reshape(n.widened(5, self.type), sizes)) : grad;
  if (n.is_wanted(0)) n.set(gradient(n, weighted, unit, rstd, range(first, self.rank()), true), 0);
  const Dims rows = range(0, first);
  if (n.is_wanted(1)) set_reshaped(n, n.b.reduce(Fold::kSum, n.b.mul(grad, unit), rows, false, self.type), 1);
  if (n.is_wanted(2)) set_reshaped(n, n.b.reduce(Fold::kSum, grad, rows, false, self.type), 2);
}

void rms_norm(Node& n) {
  const Tensor self = n.widened(0);
  const std::size_t first = self.rank() - n.sizes(1).size();
  const double least = self.type == Type::kF64 ? std::numeric_limits<double>::epsilon()
                                               : static_cast<double>(std::numeric_limits<float>::epsilon());
  const Tensor square = mean_of(n, n.b.mul(self, self), range(first, self.rank()));
  const Tensor rstd = rstd_of(n, square, n.is_given(3) ? n.real(3) : least);
  const Shape sizes(self.sizes.begin() + static_cast<std::ptrdiff_t>(first), self.sizes.end());
  n.set(scaled(n, n.b.mul(self, rstd), 2, 99, sizes));
  set_reshaped(n, rstd, 1);
}

void rms_norm_backward(Node& n) {
  const Tensor grad = n.widened(0), self = n.widened(1);
  const std::size_t first = self.rank() - n.sizes(2).size();
  const Shape sizes(self.sizes.begin() + static_cast<std::ptrdiff_t>(first), self.sizes.end());
  Shape ones = self.sizes;
  for (std::size_t d = first; d < ones.size(); ++d) ones[d] = 1;
  const Tensor rstd = n.b.reshape(n.widened(3, self.type), ones);
  const Tensor unit = n.b.mul(self, rstd);
  const Tensor weighted = n.is_given(4) ? n.b.mul(grad, n.b.reshape(n.widened(4, self.type), sizes)) : grad;
  if (n.is_wanted(0)) n.set(gradient(n, weighted, unit, rstd, range(first, self.rank()), false), 0);
  if (n.is_wanted(1))
    set_reshaped(n, n.b.reduce(Fold::kSum, n.b.mul(grad, unit), range(0, first), false, self.type), 1);
}

Dims all_but_channels(std::size_t rank) {
  Dims dims = range(0, rank);
  dims.erase(dims.begin() + 1);
  return dims;
}

Shape channels(const Tensor& self) {
  Shape sizes(self.rank(), Poly(1));
  sizes[1] = self.sizes[1];
  return sizes;
}

// The running value moved towards what a batch has.
Tensor moved(Node& n, const Tensor& running, const Tensor& seen, double momentum) {
  const Tensor kept = n.b.mul(running, n.b.number(1 - momentum, running.type));
  return n.b.add(kept, n.b.mul(n.b.reshape(seen, running.sizes), n.b.number(momentum, running.type)));
}

void batch_norm_training(Node& n, std::size_t momentum, std::size_t first_running) {
  const Tensor self = n.widened(0);
  const Dims dims = all_but_channels(self.rank());
  const Moments m = moments(n, self, dims, n.real(momentum + 1));
  n.set(scaled(n, normalised(n, self, m.mean, m.rstd), 1, 2, channels(self)));
  set_reshaped(n, m.mean, 1);
  set_reshaped(n, m.rstd, 2);
  if (first_running == 0) return;
  const Tensor count = n.b.size(count_along(self, dims), self.type);
  const Tensor unbiased = n.b.mul(m.variance, n.b.apply("($0 / ($0 - 1))", self.type, {count}, 6));
  n.set(moved(n, n.widened(3), m.mean, n.real(momentum)), first_running);
  n.set(moved(n, n.widened(4), unbiased, n.real(momentum)), first_running + 1);
}

void batch_norm_inference(Node& n, std::size_t eps) {
  const Tensor self = n.widened(0);
  const Shape sizes = channels(self);
  const Tensor mean = n.b.reshape(n.widened(3, self.type), sizes);
  const Tensor rstd = rstd_of(n, n.b.reshape(n.widened(4, self.type), sizes), n.real(eps));
  n.set(scaled(n, normalised(n, self, mean, rstd), 1, 2, sizes));
  for (std::size_t r = 1; r < 3; ++r) {
    if (n.is_wanted(r)) n.set(n.b.number(0, n.type(r), n.shape(r)), r);  // of no elements
  }
}

void batch_norm_functional(Node& n) {
  if (n.flag(5)) return batch_norm_training(n, 6, 3);
  batch_norm_inference(n, 7);
  n.set(n.tensor(3), 3);
  n.set(n.tensor(4), 4);
}

void batch_norm_with_update(Node& n) {
  batch_norm_training(n, 5, 4);
  if (n.is_wanted(3)) n.set(n.b.number(0, n.type(3), n.shape(3)), 3);
}

void batch_norm_no_stats(Node& n) { batch_norm_training(n, 4, 0); }
void batch_norm_no_training(Node& n) { batch_norm_inference(n, 6); }

void batch_norm_backward(Node& n) {
  const Tensor grad = n.widened(0), self = n.widened(1);
  const Dims dims = all_but_channels(self.rank());
  const Shape sizes = channels(self);
  const bool trains = n.flag(7);
  const Tensor mean = n.b.reshape(n.widened(trains ? 5 : 3, self.type), sizes);
  const Tensor given = n.b.reshape(n.widened(trains ? 6 : 4, self.type), sizes);
  const Tensor rstd = trains ? given : rstd_of(n, given, n.real(8));
  const Tensor unit = normalised(n, self, mean, rstd);
  if (n.is_wanted(0)) {
    const Tensor weighted = n.is_given(2) ? n.b.mul(grad, n.b.reshape(n.widened(2, self.type), sizes)) : grad;
    n.set(trains ? gradient(n, weighted, unit, rstd, dims, true) : n.b.mul(weighted, rstd), 0);
  }
  if (n.is_wanted(1)) set_reshaped(n, n.b.reduce(Fold::kSum, n.b.mul(grad, unit), dims, false, self.type), 1);
  if (n.is_wanted(2)) set_reshaped(n, n.b.reduce(Fold::kSum, grad, dims, false, self.type), 2);
}

// [N, group, channels of a group, elements of a channel]
struct Grouping {
  Shape sizes, per_group, per_channel;
};

Grouping grouping(Node& n, std::size_t batch) {
  const Poly group = n.integer(batch + 3);
  const auto each = n.size(batch + 1).divided_by(n.integer(batch + 3));
  if (!each) fail(PLUG_UNSUPPORTED, "Groups of an open number of channels are not compiled.");
  return {
      {n.size(batch), group, *each, n.size(batch + 2)}, {n.size(batch), group, 1, 1}, {1, group, *each, 1}};
}

void group_norm(Node& n) {
  const Grouping g = grouping(n, 3);
  const Tensor self = n.b.reshape(n.widened(0), g.sizes);
  const Moments m = moments(n, self, {2, 3}, n.real(7));
  set_reshaped(n, scaled(n, normalised(n, self, m.mean, m.rstd), 1, 2, g.per_channel), 0);
  set_reshaped(n, m.mean, 1);
  set_reshaped(n, m.rstd, 2);
}

void group_norm_backward(Node& n) {
  const Grouping g = grouping(n, 5);
  const Tensor grad = n.b.reshape(n.widened(0), g.sizes), self = n.b.reshape(n.widened(1), g.sizes);
  const Tensor mean = n.b.reshape(n.widened(2, self.type), g.per_group);
  const Tensor rstd = n.b.reshape(n.widened(3, self.type), g.per_group);
  const Tensor unit = normalised(n, self, mean, rstd);
  const Tensor weighted =
      n.is_given(4) ? n.b.mul(grad, n.b.reshape(n.widened(4, self.type), g.per_channel)) : grad;
  if (n.is_wanted(0)) n.set(n.b.reshape(gradient(n, weighted, unit, rstd, {2, 3}, true), n.shape(0)), 0);
  if (n.is_wanted(1))
    set_reshaped(n, n.b.reduce(Fold::kSum, n.b.mul(grad, unit), {0, 3}, false, self.type), 1);
  if (n.is_wanted(2)) set_reshaped(n, n.b.reduce(Fold::kSum, grad, {0, 3}, false, self.type), 2);
}

constexpr Operator kNorms[] = {
    {PLUG_SCHEMA_NATIVE_LAYER_NORM, layer_norm},
    {PLUG_SCHEMA_NATIVE_LAYER_NORM_BACKWARD, layer_norm_backward},
    {PLUG_SCHEMA__FUSED_RMS_NORM, rms_norm},
    {PLUG_SCHEMA__FUSED_RMS_NORM_BACKWARD, rms_norm_backward},
    {PLUG_SCHEMA__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL, batch_norm_functional},
    {PLUG_SCHEMA__NATIVE_BATCH_NORM_LEGIT_NO_STATS, batch_norm_no_stats},
    {PLUG_SCHEMA__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING, batch_norm_no_training},
    {PLUG_SCHEMA__BATCH_NORM_WITH_UPDATE_FUNCTIONAL, batch_norm_with_update},
    {PLUG_SCHEMA_NATIVE_BATCH_NORM_BACKWARD, batch_norm_backward},
    {PLUG_SCHEMA_NATIVE_GROUP_NORM, group_norm},
    {PLUG_SCHEMA_NATIVE_GROUP_NORM_BACKWARD, group_norm_backward},
};

}  // namespace

OperatorList norm_operators() { return {kNorms, std::size(kNorms)}; }

}  // namespace torchplug::sim::compiler
