#include "builder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "error.h"

namespace torchplug::sim::compiler {
namespace {

Shape broadcast(const std::vector<Tensor>& tensors) {
  std::size_t rank = 0;
  for (const Tensor& tensor : tensors) rank = std::max(rank, tensor.rank());
  Shape sizes(rank, Poly(1));
  for (const Tensor& tensor : tensors) {
    for (std::size_t d = 0; d < tensor.rank(); ++d) {
      Poly& size = sizes[rank - tensor.rank() + d];
      if (size.is(1)) size = tensor.sizes[d];
    }
  }
  return sizes;
}

Affine unit(std::size_t rank, std::size_t dim) {
  Affine made{0, std::vector<Poly>(rank)};
  made.coefs[dim] = 1;
  return made;
}

// How many elements lie between the first and the last, these included; 0 or less if there are none.
Poly reach(const Shape& sizes, const std::vector<Poly>& strides) {
  Poly last = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) last = last + (sizes[d] - Poly(1)) * strides[d];
  return last + Poly(1);
}

Fold fold_of_bools(Fold fold) {
  if (fold == Fold::kMost) return Fold::kAny;
  return fold == Fold::kLeast ? Fold::kAll : fold;
}

std::string conversion(Type from, Type to) {
  if (to == Type::kBool) return "($0 != 0)";
  if (is_real(from) && !is_real(to)) return "(" + std::string(value_name(to)) + ")x_whole($0)";
  return "(" + std::string(value_name(to)) + ")$0";
}

}  // namespace

std::size_t wrapped(std::int64_t dim, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dim < -count || dim >= count)
    fail(PLUG_UNSUPPORTED, "Dim ", dim, " is out of range for ", rank, " dims.");
  return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
}

std::vector<Affine> identity(std::size_t rank) {
  std::vector<Affine> map;
  for (std::size_t d = 0; d < rank; ++d) map.push_back(unit(rank, d));
  return map;
}

Tensor Builder::number(double value, Type type, Shape sizes) {
  return {type, std::move(sizes), program_.pool.number(literal(value, computed(type)), computed(type))};
}

Tensor Builder::integer(std::int64_t value, Type type, Shape sizes) {
  return {type, std::move(sizes), program_.pool.number(literal(value, computed(type)), computed(type))};
}

Tensor Builder::size(const Poly& value, Type type) {
  return widen({Type::kI64, {}, program_.pool.number(value.text(), Type::kI64)}, type);
}

Tensor Builder::position(const Shape& sizes, std::size_t dim) {
  return {Type::kI64, sizes, program_.pool.position(unit(sizes.size(), dim))};
}

Tensor Builder::apply(const std::string& text, Type type, const std::vector<Tensor>& args, int cost) {
  const Shape sizes = broadcast(args);
  std::vector<const Expr*> exprs;
  exprs.reserve(args.size());
  for (const Tensor& arg : args) exprs.push_back(expand(arg, sizes).expr);
  return {type, sizes, program_.pool.apply(text, computed(type), std::move(exprs), cost)};
}

Tensor Builder::widen(const Tensor& tensor, Type type) {
  const Type from = tensor.expr->type, to = computed(type);
  if (from == to) return {type, tensor.sizes, tensor.expr};
  return {type, tensor.sizes, program_.pool.apply(conversion(from, to), to, {tensor.expr}, 1)};
}

Tensor Builder::convert(const Tensor& tensor, Type type) {
  Tensor wide = widen(tensor, type);
  if (type == tensor.type || computed(type) == type) return wide;
  return apply(type == Type::kBF16 ? "of_bf16(to_bf16($0))" : "of_f16(to_f16($0))", type, {wide}, 4);
}

Tensor Builder::remap(const Tensor& tensor, const std::vector<Affine>& map, const Shape& sizes) {
  return {tensor.type, sizes, program_.pool.remap(tensor.expr, map, sizes.size())};
}

Tensor Builder::expand(const Tensor& tensor, const Shape& sizes) {
  if (tensor.sizes == sizes) return tensor;
  if (tensor.rank() > sizes.size()) fail(PLUG_UNSUPPORTED, "A tensor cannot be expanded to fewer dims.");
  std::vector<Affine> map;
  const std::size_t added = sizes.size() - tensor.rank();
  for (std::size_t d = 0; d < tensor.rank(); ++d) {
    const bool repeats = tensor.sizes[d].is(1) && !sizes[d + added].is(1);
    map.push_back(repeats ? Affine{0, std::vector<Poly>(sizes.size())} : unit(sizes.size(), d + added));
  }
  return remap(tensor, map, sizes);
}

Tensor Builder::transpose(const Tensor& tensor, std::size_t a, std::size_t b) {
  if (a == b) return tensor;
  std::vector<std::size_t> order(tensor.rank());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::swap(order[a], order[b]);
  return permute(tensor, order);
}

Tensor Builder::permute(const Tensor& tensor, const std::vector<std::size_t>& order) {
  std::vector<Affine> map(tensor.rank());
  Shape sizes(tensor.rank());
  for (std::size_t d = 0; d < order.size(); ++d) {
    map[order[d]] = unit(tensor.rank(), d);
    sizes[d] = tensor.sizes[order[d]];
  }
  return remap(tensor, map, sizes);
}

Tensor Builder::slice(const Tensor& tensor, std::size_t dim, const Poly& start, const Poly& step,
                      const Poly& size) {
  std::vector<Affine> map = identity(tensor.rank());
  map[dim].offset = start;
  map[dim].coefs[dim] = step;
  Shape sizes = tensor.sizes;
  sizes[dim] = size;
  return remap(tensor, map, sizes);
}

Tensor Builder::select(const Tensor& tensor, std::size_t dim, const Poly& index) {
  std::vector<Affine> map;
  Shape sizes = tensor.sizes;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  for (std::size_t d = 0; d < tensor.rank(); ++d) {
    map.push_back(d == dim ? Affine{index, std::vector<Poly>(sizes.size())}
                           : unit(sizes.size(), d < dim ? d : d - 1));
  }
  return remap(tensor, map, sizes);
}

Tensor Builder::unsqueeze(const Tensor& tensor, std::size_t dim) {
  std::vector<Affine> map;
  Shape sizes = tensor.sizes;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), Poly(1));
  for (std::size_t d = 0; d < tensor.rank(); ++d) map.push_back(unit(sizes.size(), d < dim ? d : d + 1));
  return remap(tensor, map, sizes);
}

Tensor Builder::reshape(const Tensor& tensor, const Shape& sizes) {
  if (tensor.sizes == sizes) return tensor;
  constexpr int kMuch = 16;  // rather in its own loops, with what it is made of
  const Expr* const direct =
      tensor.expr->cost < kMuch ? program_.pool.reshape(tensor.expr, tensor.sizes, sizes) : nullptr;
  if (direct != nullptr) return {tensor.type, sizes, direct};
  const int buffer = scratch(tensor.type, tensor.sizes);
  store(tensor, buffer, {0, program_.buffers[static_cast<std::size_t>(buffer)].strides}, false);
  return {tensor.type, sizes, program_.pool.load(buffer, tensor.type, {0, contiguous(sizes)})};
}

Tensor Builder::reduce(Fold fold, const Tensor& tensor, const std::vector<std::size_t>& dims, bool keep,
                       Type type, bool by_columns) {
  if (const auto parts = reduced_in_parts(fold, tensor, dims, type)) {
    Shape sizes;
    for (std::size_t d = 0; d < tensor.rank(); ++d) {
      const bool is_reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
      if (!is_reduced || keep) sizes.push_back(is_reduced ? Poly(1) : tensor.sizes[d]);
    }
    return reshape(*parts, sizes);
  }
  Stage stage;
  std::vector<std::size_t> order, reduced;
  Shape with_ones = tensor.sizes;
  for (std::size_t d = 0; d < tensor.rank(); ++d) {
    const bool is_reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    (is_reduced ? reduced : order).push_back(d);
    if (is_reduced) with_ones[d] = 1;
    (is_reduced ? stage.reduced : stage.kept).push_back(tensor.sizes[d]);
  }
  if (reduced.empty()) return widen(tensor, type);
  order.insert(order.end(), reduced.begin(), reduced.end());
  stage.value = permute(widen(tensor, type), order).expr;
  stage.fold = type == Type::kBool ? fold_of_bools(fold) : fold;
  stage.by_columns = by_columns;
  const int buffer = stage.buffer = scratch(computed(type), stage.kept);
  stage.place = {0, contiguous(stage.kept)};
  program_.stages.push_back(std::move(stage));
  Tensor made = load(buffer);
  made.type = type;
  if (!keep) return made;
  made = reshape(made, with_ones);
  return made;
}

// Few results of many elements: parts of each first, which threads share and where sums keep their digits.
std::optional<Tensor> Builder::reduced_in_parts(Fold fold, const Tensor& tensor,
                                                const std::vector<std::size_t>& dims, Type type) {
  constexpr std::int64_t kFew = 8, kMany = 32768, kParts = 64;
  Poly kept = 1, reduced = 1;
  for (std::size_t d = 0; d < tensor.rank(); ++d) {
    const bool is_reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    (is_reduced ? reduced : kept) = (is_reduced ? reduced : kept) * tensor.sizes[d];
  }
  const auto results = kept.number(), elements = reduced.number();
  if (!results || *results > kFew || (elements && *elements < kMany)) return std::nullopt;
  if (dims.size() >= 2) {
    const std::size_t first = *std::min_element(dims.begin(), dims.end());
    const auto size = tensor.sizes[first].number();
    if (size && (*size < 4 || *size > kMany)) return std::nullopt;
    std::vector<std::size_t> rest;
    for (const std::size_t dim : dims) {
      if (dim != first) rest.push_back(dim);
    }
    return reduce(fold, reduce(fold, tensor, rest, true, type), {first}, true, type);
  }
  if (!elements || *elements % kParts != 0) return std::nullopt;
  Shape sizes = tensor.sizes;
  sizes[dims[0]] = kParts;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dims[0]) + 1, Poly(*elements / kParts));
  const Tensor partial = reduce(fold, reshape(tensor, sizes), {dims[0] + 1}, false, type);
  return reduce(fold, partial, {dims[0]}, true, type);
}

Tensor Builder::realised(const Tensor& tensor) {
  if (tensor.expr->kind == Expr::Kind::kLoad && tensor.expr->args.empty()) return tensor;
  return copied(tensor);
}

Tensor Builder::copied(const Tensor& tensor) {
  const int buffer = scratch(tensor.type, tensor.sizes);
  store(tensor, buffer, {0, program_.buffers[static_cast<std::size_t>(buffer)].strides}, false);
  return load(buffer);
}

int Builder::scratch(Type type, const Shape& sizes) {
  program_.buffers.push_back({.origin = Buffer::Origin::kScratch,
                              .type = type,
                              .sizes = sizes,
                              .strides = contiguous(sizes),
                              .elements = product(sizes)});
  return static_cast<int>(program_.buffers.size()) - 1;
}

// Of what gets new content it lies as that does, so that the parts can be written there: see the updates of
// lowering.cpp.
Tensor Builder::rewritten(const Tensor& base, Type type, const Shape& sizes, Write write) {
  const int buffer = scratch(type, sizes);
  Buffer& made = program_.buffers[static_cast<std::size_t>(buffer)];
  if (const Expr& from = *base.expr; from.kind == Expr::Kind::kLoad && from.args.empty()) {
    const Buffer& held = program_.buffers[static_cast<std::size_t>(from.buffer)];
    if (held.is_updated && held.sizes == sizes && load(from.buffer).expr == base.expr) {
      made.is_updated = true;
      made.strides = held.strides;
      made.elements = reach(sizes, held.strides);
    }
  }
  const Affine where{0, made.strides};
  store(expand(base, sizes), buffer, where, false);
  write(buffer, where);
  const Tensor result = load(buffer);
  rewritten_[result.expr] = {base.expr, std::move(write)};
  return result;
}

Tensor Builder::replaced(const Tensor& base, Type type, const Shape& sizes, const Tensor& before,
                         const Part& part, const Tensor& source) {
  const auto inner = rewritten_.find(source.expr);
  if (inner != rewritten_.end() && inner->second.base == before.expr) {
    return rewritten(base, type, sizes, [write = inner->second.write, part](int buffer, const Affine& where) {
      write(buffer, part(where));
    });
  }
  return rewritten(base, type, sizes, [this, source, part](int buffer, const Affine& where) {
    store(source, buffer, part(where), true);
  });
}

Tensor Builder::load(int buffer) {
  const Buffer& from = program_.buffers[static_cast<std::size_t>(buffer)];
  Affine place{0, from.strides};
  for (std::size_t d = 0; d < from.sizes.size(); ++d) {
    if (from.sizes[d].is(1)) place.coefs[d] = 0;
  }
  return {from.type, from.sizes, program_.pool.load(buffer, from.type, std::move(place))};
}

void Builder::store(const Tensor& tensor, int buffer, const Affine& place, bool is_part) {
  Stage stage;
  stage.kept = tensor.sizes;
  stage.value = widen(tensor, program_.buffers[static_cast<std::size_t>(buffer)].type).expr;
  stage.buffer = buffer;
  stage.place = place;
  stage.is_part = is_part;
  program_.stages.push_back(std::move(stage));
}

void Builder::scatter(const Tensor& tensor, int buffer, const Affine& place,
                      const std::vector<Tensor>& positions, const std::vector<Poly>& steps,
                      bool accumulates) {
  store(tensor, buffer, place, false);
  Stage& stage = program_.stages.back();
  stage.kind = Stage::Kind::kScatter;
  for (const Tensor& position : positions) stage.positions.push_back(expand(position, tensor.sizes).expr);
  stage.steps = steps;
  stage.accumulates = accumulates;
}

Tensor Builder::gather(const Tensor& table, const std::vector<std::size_t>& dims,
                       const std::vector<Tensor>& positions, const std::vector<Affine>& map,
                       const Shape& sizes) {
  const Tensor from = realised(table);
  std::vector<const Expr*> exprs;
  std::vector<Poly> steps;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    exprs.push_back(expand(positions[k], sizes).expr);
    steps.push_back(from.expr->place.coefs[dims[k]]);
  }
  const Affine place = compiler::remap(from.expr->place, map, sizes.size());
  const Type memory = program_.buffers[static_cast<std::size_t>(from.expr->buffer)].type;
  return {table.type, sizes, program_.pool.load(from.expr->buffer, memory, place, exprs, steps)};
}

Tensor Builder::checked(const Tensor& position, const Poly& limit, bool wraps, const std::string& what) {
  program_.checks.push_back(what);
  const std::string call = std::string(wraps ? "wrapped" : "checked") + "($0, " + limit.text() + ", a, " +
                           std::to_string(program_.checks.size()) + ")";
  return apply(call, Type::kI64, {widen(position, Type::kI64)}, 4);
}

Tensor Builder::divisor(const Tensor& number, const Shape& quotient, const std::string& what) {
  const bool is_fixed = number.expr->kind == Expr::Kind::kNumber;
  if (is_fixed && number.expr != integer(0, number.type).expr) return number;
  program_.checks.push_back(what);
  const std::string call =
      "x_divisor($0, " + product(quotient).text() + ", a, " + std::to_string(program_.checks.size()) + ")";
  return apply(call, number.type, {number}, 2);
}

Tensor Builder::random(const Shape& sizes, Type type) {
  const Type drawn = type == Type::kF64 ? Type::kF64 : Type::kF32;
  const int buffer = scratch(drawn, sizes);
  Buffer& room = program_.buffers[static_cast<std::size_t>(buffer)];
  room.elements = room.elements + Poly(64);  // whole groups are drawn
  Stage stage;
  stage.kind = Stage::Kind::kRandom;
  stage.kept = sizes;
  stage.buffer = buffer;
  program_.draws.push_back(product(sizes));
  stage.steps = {Poly(static_cast<std::int64_t>(program_.draws.size()) - 1)};
  program_.stages.push_back(std::move(stage));
  Tensor made = load(buffer);
  made.type = type;
  return made;
}

}  // namespace torchplug::sim::compiler
