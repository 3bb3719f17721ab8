#pragma once
// Windows that go over the last dims of a tensor, as convolutions and pooling have them: all places stay
// affine, since what lies outside the tensor is written around it first.

#include <cstdint>
#include <vector>

#include "lowering.h"

namespace torchplug::sim::compiler {

struct Windows {
  std::vector<std::int64_t> kernel, stride, padding, dilation;  // one for each of the last dims

  std::size_t rank() const { return kernel.size(); }
  // Elements that one window spans along a dim.
  std::int64_t span(std::size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
};

// A list of `rank` numbers, of which one may stand for all; the default where none is given.
std::vector<std::int64_t> per_dim(const Node& n, std::size_t arg, std::size_t rank, std::int64_t otherwise);

// `self` with `filling` around its last dims, so that windows for `counts` results fit.
Tensor surrounded(Node& n, const Tensor& self, const Windows& windows, const Shape& counts, double filling);

// Results of windows back where they came from: result j at j * stride + offset of the last dims, 0 between,
// so that a window of the same kernel over it sums up what reaches each of `sizes` elements.
Tensor spread(Node& n, const Tensor& results, const Windows& windows, const Shape& sizes);

// What the windows see of what surrounded() made: [leading..., counts..., kernel...].
Tensor seen(Node& n, const Tensor& self, const Windows& windows, const Shape& counts);
// Of what spread() made: element i is reached by place k of a window's kernel, last first.
Tensor reached(Node& n, const Tensor& self, const Windows& windows, const Shape& sizes);

}  // namespace torchplug::sim::compiler
