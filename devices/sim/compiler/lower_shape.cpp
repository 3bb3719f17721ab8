#include <algorithm>
#include <iterator>

#include "error.h"
#include "lowering.h"
#include "torchplug/schemas.h"

namespace torchplug::sim::compiler {
namespace {

void as_it_is(Node& n) { n.set(n.tensor(0)); }
void reshape_to(Node& n) { n.set(n.b.reshape(n.tensor(0), n.shape())); }

void permute(Node& n) {
  const Tensor self = n.tensor(0);
  n.set(n.b.permute(self, self.rank() == 0 ? std::vector<std::size_t>() : n.dims(1, self.rank())));
}

void transpose(Node& n) {
  const Tensor self = n.tensor(0);
  n.set(n.b.transpose(self, n.dim(1, self.rank()), n.dim(2, self.rank())));
}

void t(Node& n) {
  const Tensor self = n.tensor(0);
  if (self.rank() < 2) return n.set(self);
  n.set(n.b.transpose(self, 0, 1));
}

void unsqueeze(Node& n) {
  const Tensor self = n.tensor(0);
  n.set(n.b.unsqueeze(self, n.dim(1, self.rank() + 1)));
}

// Of a dim of size 1, which is the result's shape that says.
void squeeze(Node& n) { n.set(n.b.reshape(n.tensor(0), n.shape())); }
void expand(Node& n) { n.set(n.b.expand(n.tensor(0), n.shape())); }

void slice(Node& n) {
  const Tensor self = n.tensor(0);
  const std::size_t dim = n.is_given(1) ? n.dim(1, self.rank()) : 0;
  const Poly step = n.is_given(4) ? n.size(4) : Poly(1);
  n.set(n.b.slice(self, dim, n.start(2, self.sizes[dim]), step, n.shape()[dim]));
}

void select(Node& n) {
  const Tensor self = n.tensor(0);
  const std::size_t dim = n.dim(1, self.rank());
  n.set(n.b.select(self, dim, n.start(2, self.sizes[dim])));
}

void split(Node& n) {
  const Tensor self = n.tensor(0);
  const std::size_t dim = n.is_given(2) ? n.dim(2, self.rank()) : 0;
  const std::vector<Poly> given = n.sizes(1);
  Poly start = 0;
  for (std::size_t r = 0; r < n.result_count(); ++r) {
    const Poly size = n.op().text != nullptr ? given.at(r) : given.at(0);
    if (n.is_wanted(r)) n.set(n.b.slice(self, dim, start, 1, n.shape(r)[dim]), r);
    start = start + size;
  }
}

void unbind(Node& n) {
  const Tensor self = n.tensor(0);
  const std::size_t dim = n.is_given(1) ? n.dim(1, self.rank()) : 0;
  for (std::size_t r = 0; r < n.result_count(); ++r) {
    if (n.is_wanted(r)) n.set(n.b.select(self, dim, static_cast<std::int64_t>(r)), r);
  }
}

// Writes a tensor into the part of the buffer that begins at `start` along a dim.
void put_part(Node& n, const Tensor& part, int buffer, std::size_t dim, const Poly& start, const Poly& step) {
  Affine place{0, n.b.program().buffers[static_cast<std::size_t>(buffer)].strides};
  place.offset = start * place.coefs[dim];
  place.coefs[dim] = place.coefs[dim] * step;
  n.b.store(part, buffer, place, true);
}

void concatenate(Node& n, const std::vector<Tensor>& parts, std::size_t dim) {
  const int buffer = n.b.scratch(n.type(), n.shape());
  Poly start = 0;
  for (const Tensor& part : parts) {
    put_part(n, part, buffer, dim, start, 1);
    start = start + part.sizes[dim];
  }
  n.set(n.b.load(buffer));
}

void cat(Node& n) {
  std::vector<Tensor> parts;
  const std::size_t rank = n.shape().size();
  for (const auto& tensor : n.tensors(0)) {
    if (tensor && tensor->rank() == rank) parts.push_back(*tensor);  // PyTorch skips empty ones of one dim
  }
  concatenate(n, parts, n.is_given(1) ? n.dim(1, rank) : 0);
}

void stack(Node& n) {
  std::vector<Tensor> parts;
  const std::size_t dim = n.is_given(1) ? n.dim(1, n.shape().size()) : 0;
  for (const auto& tensor : n.tensors(0))
    if (tensor) parts.push_back(n.b.unsqueeze(*tensor, dim));
  concatenate(n, parts, dim);
}

// A copy of a tensor of which a part will be written.
int copy_for_part(Node& n, const Tensor& self) {
  const int buffer = n.b.scratch(n.type(), n.shape());
  n.b.store(n.b.expand(self, n.shape()), buffer,
            {0, n.b.program().buffers[static_cast<std::size_t>(buffer)].strides}, false);
  return buffer;
}

void slice_scatter(Node& n) {
  const Tensor self = n.tensor(0);
  const std::size_t dim = n.is_given(2) ? n.dim(2, self.rank()) : 0;
  const Poly start = n.start(3, self.sizes[dim]), step = n.is_given(5) ? n.size(5) : Poly(1);
  const Tensor source = n.tensor(1);
  const bool is_all = start.is(0) && step.is(1) && source.sizes[dim] == self.sizes[dim];
  if (is_all) return n.set(source);
  const Tensor before = n.b.slice(self, dim, start, step, source.sizes[dim]);
  const auto part = [=](Affine where) {
    where.offset = where.offset + start * where.coefs[dim];
    where.coefs[dim] = where.coefs[dim] * step;
    return where;
  };
  n.set(n.b.replaced(self, n.type(), n.shape(), before, part, source));
}

void select_scatter(Node& n) {
  const Tensor self = n.tensor(0);
  const std::size_t dim = n.dim(2, self.rank());
  const auto size = self.sizes[dim].number(), place = n.size(3).number();
  if (size && place && (*place >= *size || *place < -*size))
    fail(PLUG_UNSUPPORTED, n.name(), " at ", *place, " of ", *size, " is not compiled.");
  const Poly index = n.start(3, self.sizes[dim]);
  const auto part = [=](Affine where) {
    where.offset = where.offset + index * where.coefs[dim];
    where.coefs.erase(where.coefs.begin() + static_cast<std::ptrdiff_t>(dim));
    return where;
  };
  n.set(n.b.replaced(self, n.type(), n.shape(), n.b.select(self, dim, index), part, n.tensor(1)));
}

void constant_pad(Node& n) {
  Tensor self = n.tensor(0);
  const std::vector<std::int64_t> pads = n.integers(1);
  const Tensor filling = n.is_given(2) ? n.rounded(2, n.type()) : n.b.number(0, n.type());
  const int buffer = copy_for_part(n, filling);
  Affine place{0, n.b.program().buffers[static_cast<std::size_t>(buffer)].strides};
  for (std::size_t p = 0; p + 1 < pads.size(); p += 2) {
    const std::size_t dim = self.rank() - 1 - p / 2;
    const std::int64_t before = pads[p], after = pads[p + 1];
    const Poly kept =
        self.sizes[dim] + Poly(std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0));
    self = n.b.slice(self, dim, std::max<std::int64_t>(-before, 0), 1, kept);
    place.offset = place.offset + place.coefs[dim] * Poly(std::max<std::int64_t>(before, 0));
  }
  n.b.store(self, buffer, place, true);
  n.set(n.b.load(buffer));
}

void flip(Node& n) {
  Tensor self = n.tensor(0);
  if (n.sizes(1).empty()) return n.set(self);
  for (const std::size_t dim : n.dims(1, self.rank()))
    self = n.b.slice(self, dim, self.sizes[dim] - Poly(1), -1, self.sizes[dim]);
  n.set(self);
}

void repeat(Node& n) {
  Tensor self = n.tensor(0);
  const std::vector<Poly> times = n.sizes(1);
  while (self.rank() < times.size()) self = n.b.unsqueeze(self, 0);
  Shape wide, flat;
  for (std::size_t d = 0; d < times.size(); ++d) {
    wide.push_back(times[d]);
    wide.push_back(self.sizes[d]);
  }
  for (std::size_t d = times.size(); d-- > 0;) self = n.b.unsqueeze(self, d);
  n.set(n.b.reshape(n.b.expand(self, wide), n.shape()));
}

// Keeps what lies on one side of a diagonal.
void triangle(Node& n) {
  const Tensor self = n.tensor(0);
  const Tensor row = n.b.position(self.sizes, self.rank() - 2),
               column = n.b.position(self.sizes, self.rank() - 1);
  const Tensor diagonal = n.is_given(1) ? n.b.size(n.size(1), Type::kI64) : n.b.integer(0, Type::kI64);
  const Tensor kept = n.b.apply(n.op().text, Type::kBool, {row, column, diagonal}, 2);
  n.set(n.b.apply("($0 ? $1 : 0)", n.type(), {kept, self}));
}

void diagonal(Node& n) {
  const Tensor self = n.tensor(0);
  const std::size_t a = n.dim(2, self.rank()), b = n.dim(3, self.rank());
  const std::int64_t offset = n.integer(1);
  const Shape sizes = n.shape();
  std::vector<Affine> map;
  std::size_t next = 0;
  for (std::size_t d = 0; d < self.rank(); ++d) {
    map.push_back({0, std::vector<Poly>(sizes.size())});
    map[d].coefs[d == a || d == b ? sizes.size() - 1 : next++] = 1;
  }
  map[a].offset = std::max<std::int64_t>(-offset, 0);
  map[b].offset = std::max<std::int64_t>(offset, 0);
  n.set(n.b.remap(self, map, sizes));
}

constexpr Operator kShapes[] = {
    {"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", reshape_to},
    {PLUG_SCHEMA__UNSAFE_VIEW, reshape_to},
    {"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", reshape_to},
    {"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", permute},
    {"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose},
    {"aten::t(Tensor(a) self) -> Tensor(a)", t},
    {"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", unsqueeze},
    {"aten::squeeze(Tensor(a) self) -> Tensor(a)", squeeze},
    {"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", squeeze},
    {"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", squeeze},
    {"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", expand},
    {"aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> "
     "Tensor(a)",
     slice},
    {"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", select},
    {"aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
     "step=1) -> Tensor",
     slice_scatter},
    {PLUG_SCHEMA_SELECT_SCATTER, select_scatter},
    {"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", split},
    {"aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", split,
     "sizes"},
    {"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", unbind},
    {"aten::alias(Tensor(a) self) -> Tensor(a)", as_it_is},
    {"aten::detach(Tensor(a) self) -> Tensor(a)", as_it_is},
    {"aten::lift_fresh_copy(Tensor self) -> Tensor", as_it_is},
    {PLUG_SCHEMA_CAT, cat},
    {PLUG_SCHEMA_STACK, stack},
    {PLUG_SCHEMA_CONSTANT_PAD_ND, constant_pad},
    {PLUG_SCHEMA_FLIP, flip},
    {PLUG_SCHEMA_REPEAT, repeat},
    {PLUG_SCHEMA_TRIL, triangle, "($1 - $0 <= $2)"},
    {PLUG_SCHEMA_TRIU, triangle, "($1 - $0 >= $2)"},
    {"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", diagonal},
};

}  // namespace

OperatorList shape_operators() { return {kShapes, std::size(kShapes)}; }

}  // namespace torchplug::sim::compiler
