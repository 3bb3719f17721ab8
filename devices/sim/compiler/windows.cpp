#include "windows.h"

#include "error.h"

namespace torchplug::sim::compiler {
namespace {

// A new tensor of `sizes`, full of one number, with another written into it.
Tensor placed_into(Node& n, const Tensor& part, const Shape& sizes, const std::vector<Poly>& offsets,
                   const std::vector<Poly>& steps, double filling) {
  const int buffer = n.b.scratch(part.type, sizes);
  const std::vector<Poly> strides = n.b.program().buffers[static_cast<std::size_t>(buffer)].strides;
  n.b.store(n.b.number(filling, part.type, sizes), buffer, {0, strides}, false);
  Affine place{0, strides};
  const std::size_t first = sizes.size() - offsets.size();
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    place.offset = place.offset + strides[first + d] * offsets[d];
    place.coefs[first + d] = strides[first + d] * steps[d];
  }
  n.b.store(part, buffer, place, true);
  return n.b.load(buffer);
}

Tensor windowed(Node& n, const Tensor& self, const Windows& windows, const Shape& counts,
                const std::vector<std::int64_t>& strides, bool backwards) {
  const std::size_t first = self.rank() - windows.rank(), rank = self.rank() + windows.rank();
  Shape sizes(self.sizes.begin(), self.sizes.begin() + static_cast<std::ptrdiff_t>(first));
  sizes.insert(sizes.end(), counts.begin(), counts.end());
  for (const std::int64_t k : windows.kernel) sizes.emplace_back(k);
  std::vector<Affine> map;
  for (std::size_t d = 0; d < self.rank(); ++d) {
    map.push_back({0, std::vector<Poly>(rank)});
    if (d < first) {
      map[d].coefs[d] = 1;
      continue;
    }
    const std::size_t w = d - first;
    map[d].coefs[d] = strides[w];
    map[d].coefs[self.rank() + w] = backwards ? -windows.dilation[w] : windows.dilation[w];
    if (backwards) map[d].offset = windows.span(w) - 1;
  }
  return n.b.remap(self, map, sizes);
}

}  // namespace

std::vector<std::int64_t> per_dim(const Node& n, std::size_t arg, std::size_t rank, std::int64_t otherwise) {
  std::vector<std::int64_t> given = n.is_given(arg) ? n.integers(arg) : std::vector<std::int64_t>();
  if (given.empty()) given.push_back(otherwise);
  if (given.size() == 1) given.resize(rank, given[0]);
  if (given.size() != rank)
    fail(PLUG_UNSUPPORTED, "Windows over ", rank, " dims are given as ", given.size(), ".");
  return given;
}

Tensor surrounded(Node& n, const Tensor& self, const Windows& windows, const Shape& counts, double filling) {
  Shape sizes = self.sizes;
  std::vector<Poly> offsets, steps(windows.rank(), Poly(1));
  const std::size_t first = self.rank() - windows.rank();
  bool fits = true;
  for (std::size_t d = 0; d < windows.rank(); ++d) {
    const Poly needed = (counts[d] - Poly(1)) * Poly(windows.stride[d]) + Poly(windows.span(d));
    offsets.emplace_back(windows.padding[d]);
    const Poly kept = self.sizes[first + d] + Poly(windows.padding[d]);
    const auto needs = needed.number(), has = kept.number();
    fits = fits && windows.padding[d] == 0 && (needed == kept || (needs && has && *needs <= *has));
    // At least what is written, at least what is read.
    sizes[first + d] = needs && has ? Poly(std::max(*needs, *has))
                                    : kept + Poly(windows.padding[d] + windows.span(d) * windows.stride[d]);
  }
  if (fits) return n.b.realised(self);
  return placed_into(n, self, sizes, offsets, steps, filling);
}

Tensor spread(Node& n, const Tensor& results, const Windows& windows, const Shape& sizes) {
  Shape room = results.sizes;
  std::vector<Poly> offsets, steps;
  const std::size_t first = results.rank() - windows.rank();
  for (std::size_t d = 0; d < windows.rank(); ++d) {
    const std::int64_t offset = windows.span(d) - 1 - windows.padding[d];
    if (offset < 0) fail(PLUG_UNSUPPORTED, "Padding beyond the kernel is not compiled.");
    offsets.emplace_back(offset);
    steps.emplace_back(windows.stride[d]);
    room[first + d] = sizes[d] + Poly(windows.span(d) - 1);
    const Poly last = (results.sizes[first + d] - Poly(1)) * Poly(windows.stride[d]) + Poly(offset + 1);
    const auto has = room[first + d].number(), needs = last.number();
    if (has && needs && *needs > *has) room[first + d] = last;
  }
  return placed_into(n, results, room, offsets, steps, 0);
}

Tensor seen(Node& n, const Tensor& self, const Windows& windows, const Shape& counts) {
  return windowed(n, self, windows, counts, windows.stride, false);
}

Tensor reached(Node& n, const Tensor& self, const Windows& windows, const Shape& sizes) {
  return windowed(n, self, windows, sizes, std::vector<std::int64_t>(windows.rank(), 1), true);
}

}  // namespace torchplug::sim::compiler
