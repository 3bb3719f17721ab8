#include <iterator>
#include <string>

#include "error.h"
#include "lowering.h"
#include "torchplug/schemas.h"

namespace torchplug::sim::compiler {
namespace {

std::string out_of_range(const char* what) {
  return std::string("An index of ") + what + " is out of range.";
}

Affine nowhere(std::size_t rank) { return {0, std::vector<Poly>(rank)}; }

void embedding(Node& n) {
  const Tensor weight = n.tensor(0);
  const Tensor index = n.b.checked(n.tensor(1), weight.sizes[0], false, out_of_range("embedding"));
  const Shape sizes = n.shape();
  std::vector<Affine> map = {nowhere(sizes.size()), nowhere(sizes.size())};
  map[1].coefs.back() = 1;
  n.set(n.b.gather(weight, {0}, {n.b.unsqueeze(index, index.rank())}, map, sizes));
}

// An index of one dim, along that dim of a shape.
Tensor along(Node& n, Tensor index, std::size_t dim, std::size_t rank) {
  if (index.rank() == 0) index = n.b.unsqueeze(index, 0);
  Shape sizes(rank, Poly(1));
  sizes[dim] = index.sizes[0];
  return n.b.reshape(index, sizes);
}

void index_select(Node& n) {
  const Tensor self = n.tensor(0);
  if (self.rank() == 0) return n.set(self);
  const std::size_t dim = n.dim(1, self.rank());
  const Tensor index = n.b.checked(along(n, n.tensor(2), dim, self.rank()), self.sizes[dim], false,
                                   out_of_range("index_select"));
  std::vector<Affine> map = identity(self.rank());
  map[dim] = nowhere(self.rank());
  n.set(n.b.gather(self, {dim}, {index}, map, n.shape()));
}

void gather(Node& n) {
  const Tensor self = n.tensor(0);
  if (self.rank() == 0) return n.set(self);
  const std::size_t dim = n.dim(1, self.rank());
  const Tensor index = n.b.checked(n.tensor(2), self.sizes[dim], false, out_of_range("gather"));
  std::vector<Affine> map = identity(self.rank());
  map[dim] = nowhere(self.rank());
  n.set(n.b.gather(self, {dim}, {index}, map, n.shape()));
}

// Which elements x[a, :, b] names, as PyTorch orders them.
struct Indexing {
  std::vector<std::size_t> dims;  // that have an index
  std::vector<Tensor> positions;  // over `sizes`
  std::vector<Affine> map;        // of the tensor's dims over `sizes`
  Shape sizes;
};

// Whether dims that have an index stand beside each other.
bool are_neighbours(const std::vector<std::size_t>& dims) {
  return dims.back() - dims.front() + 1 == dims.size();
}

Indexing indexing(Node& n, const Tensor& self, std::size_t arg) {
  Indexing made;
  std::vector<Tensor> given;
  const auto list = n.tensors(arg);
  for (std::size_t d = 0; d < list.size(); ++d) {
    if (!list[d]) continue;
    if (list[d]->type == Type::kBool || list[d]->type == Type::kU8)
      fail(PLUG_UNSUPPORTED, "Indexing by a mask is not compiled.");
    made.dims.push_back(d);
    given.push_back(n.b.checked(*list[d], self.sizes[d], true, out_of_range("indexing")));
  }
  if (given.empty()) fail(PLUG_UNSUPPORTED, "Indexing without an index is not compiled.");
  std::string all = "$0";
  const Shape common = n.b.apply(all, Type::kI64, given).sizes;
  const std::size_t front = are_neighbours(made.dims) ? made.dims.front() : 0;
  std::vector<std::size_t> rest;
  for (std::size_t d = 0; d < self.rank(); ++d) {
    if (d >= list.size() || !list[d]) rest.push_back(d);
  }
  for (std::size_t r = 0; r < front; ++r) made.sizes.push_back(self.sizes[rest[r]]);
  made.sizes.insert(made.sizes.end(), common.begin(), common.end());
  for (std::size_t r = front; r < rest.size(); ++r) made.sizes.push_back(self.sizes[rest[r]]);
  made.map.assign(self.rank(), nowhere(made.sizes.size()));
  for (std::size_t r = 0; r < rest.size(); ++r)
    made.map[rest[r]].coefs[r < front ? r : r + common.size()] = 1;
  for (const Tensor& index : given) {
    Tensor placed = n.b.expand(index, common);
    for (std::size_t r = front; r < rest.size(); ++r) placed = n.b.unsqueeze(placed, placed.rank());
    made.positions.push_back(n.b.expand(placed, made.sizes));
  }
  return made;
}

void index(Node& n) {
  const Tensor self = n.tensor(0);
  const Indexing at = indexing(n, self, 1);
  n.set(n.b.gather(self, at.dims, at.positions, at.map, at.sizes));
}

// Sums have the digits of the type they are computed in.
void put(Node& n, const Tensor& self, const Indexing& at, const Tensor& values, bool accumulates) {
  const Type type = accumulates ? computed(n.type()) : n.type();
  const auto write = [&b = n.b, at, values, accumulates](int buffer, const Affine& where) {
    std::vector<Poly> steps;
    steps.reserve(at.dims.size());
    for (const std::size_t dim : at.dims) steps.push_back(where.coefs[dim]);
    b.scatter(b.expand(values, at.sizes), buffer, remap(where, at.map, at.sizes.size()), at.positions, steps,
              accumulates);
  };
  n.set(n.b.rewritten(self, type, n.shape(), write));
}

void index_put(Node& n) {
  const Tensor self = n.tensor(0);
  put(n, self, indexing(n, self, 1), n.widened(2, n.type()), n.flag(3));
}

// An index of the shape of what is written, along one dim.
Indexing along_dim(Node& n, const Tensor& self, const Tensor& index, std::size_t dim, const Shape& sizes,
                   const char* what) {
  Indexing made{{dim}, {}, identity(sizes.size()), sizes};
  made.map[dim] = nowhere(sizes.size());
  made.positions = {n.b.expand(n.b.checked(index, self.sizes[dim], false, out_of_range(what)), sizes)};
  return made;
}

void scatter_into(Node& n, const Tensor& values, bool accumulates, const char* what) {
  const Tensor self = n.tensor(0), index = n.tensor(2);
  if (self.rank() == 0) fail(PLUG_UNSUPPORTED, "A scatter into a number is not compiled.");
  const std::size_t dim = n.dim(1, self.rank());
  Tensor part = values;
  for (std::size_t d = 0; d < part.rank() && part.rank() == index.rank(); ++d)
    part = n.b.slice(part, d, 0, 1, index.sizes[d]);
  put(n, self, along_dim(n, self, index, dim, index.sizes, what), part, accumulates);
}

void scatter(Node& n) { scatter_into(n, n.rounded(3, n.type()), false, "scatter"); }
void scatter_add(Node& n) { scatter_into(n, n.operand(3, n.type()), true, "scatter_add"); }

void index_into(Node& n, const Tensor& source, bool accumulates, const char* what) {
  const Tensor self = n.tensor(0);
  const std::size_t dim = n.dim(1, self.rank());
  put(n, self, along_dim(n, self, along(n, n.tensor(2), dim, self.rank()), dim, source.sizes, what), source,
      accumulates);
}

void index_copy(Node& n) { index_into(n, n.widened(3, n.type()), false, "index_copy"); }

void index_add(Node& n) {
  Tensor source = n.widened(3, n.type());
  if (n.is_given(4)) source = n.b.mul(source, n.operand(4, n.type()));
  index_into(n, source, true, "index_add");
}

void embedding_backward(Node& n) {
  if (n.flag(4)) fail(PLUG_UNSUPPORTED, "Gradients scaled by frequency are not compiled.");
  const Tensor grad = n.widened(0, n.type()), index = n.tensor(1);
  const Tensor wide = n.b.unsqueeze(index, index.rank());
  const Tensor kept = n.b.apply("($0 == $1 ? 0 : $2)", n.type(),
                                {n.b.widen(wide, Type::kI64), n.b.size(n.size(3), Type::kI64), grad}, 2);
  Indexing at{{0}, {}, {nowhere(grad.rank()), nowhere(grad.rank())}, grad.sizes};
  at.map[1].coefs.back() = 1;
  const Tensor position = n.b.checked(wide, n.shape()[0], false, out_of_range("embedding"));
  at.positions = {n.b.expand(position, grad.sizes)};
  put(n, n.b.number(0, n.type()), at, kept, true);
}

void masked_fill(Node& n) {
  n.set(n.b.apply("($0 ? $1 : $2)", n.type(),
                  {n.operand(1, Type::kBool), n.rounded(2, n.type()), n.operand(0, n.type())}));
}

constexpr Operator kIndexing[] = {
    {PLUG_SCHEMA_EMBEDDING, embedding},
    {PLUG_SCHEMA_INDEX_SELECT, index_select},
    {PLUG_SCHEMA_GATHER, gather},
    {PLUG_SCHEMA_INDEX_TENSOR, index},
    {PLUG_SCHEMA__UNSAFE_INDEX_TENSOR, index},
    {PLUG_SCHEMA_INDEX_PUT, index_put},
    {PLUG_SCHEMA__UNSAFE_INDEX_PUT, index_put},
    {PLUG_SCHEMA_SCATTER_SRC, scatter},
    {PLUG_SCHEMA_SCATTER_VALUE, scatter},
    {PLUG_SCHEMA_SCATTER_ADD, scatter_add},
    {PLUG_SCHEMA_INDEX_COPY, index_copy},
    {PLUG_SCHEMA_INDEX_ADD, index_add},
    {PLUG_SCHEMA_EMBEDDING_DENSE_BACKWARD, embedding_backward},
    {PLUG_SCHEMA_MASKED_FILL_SCALAR, masked_fill},
    {PLUG_SCHEMA_MASKED_FILL_TENSOR, masked_fill},
};

}  // namespace

OperatorList index_operators() { return {kIndexing, std::size(kIndexing)}; }

}  // namespace torchplug::sim::compiler
