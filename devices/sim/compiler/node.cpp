#include <algorithm>
#include <string>

#include "error.h"
#include "lowering.h"

namespace torchplug::sim::compiler {

const plug_value& Node::arg(std::size_t index) const {
  if (index >= node_.arg_count) fail(PLUG_INVALID, op_.schema, " has no argument ", index, ".");
  return node_.args[index];
}

std::string Node::name() const {
  const std::string_view schema = op_.schema;
  return std::string(schema.substr(0, schema.find_first_of(".(")));
}

bool Node::is_given(std::size_t index) const {
  if (index >= node_.arg_count || arg(index).tag == PLUG_NONE) return false;
  return arg(index).tag != PLUG_VALUE_REF || arg(index).as.i >= 0;
}

Tensor Node::value(std::int64_t index) const {
  const auto& held = values_.at(static_cast<std::size_t>(index));
  if (!held) fail(PLUG_INVALID, "Value ", index, " is used before it is computed.");
  return *held;
}

Tensor Node::tensor(std::size_t index) const {
  if (arg(index).tag != PLUG_VALUE_REF)
    fail(PLUG_UNSUPPORTED, op_.schema, " has no tensor as argument ", index, ".");
  return value(arg(index).as.i);
}

Tensor Node::widened(std::size_t index) const { return widened(index, computed(tensor(index).type)); }
Tensor Node::widened(std::size_t index, Type type) const { return b.widen(tensor(index), type); }

std::vector<std::optional<Tensor>> Node::tensors(std::size_t index) const {
  const plug_value& list = arg(index);
  std::vector<std::optional<Tensor>> made;
  if (list.tag != PLUG_VALUE_REFS)
    fail(PLUG_UNSUPPORTED, op_.schema, " has no list of tensors as argument ", index, ".");
  for (std::uint32_t i = 0; i < list.count; ++i) {
    made.push_back(list.as.ints[i] < 0 ? std::nullopt : std::optional(value(list.as.ints[i])));
  }
  return made;
}

Tensor Node::operand(std::size_t index, Type type) const {
  const plug_value& given = arg(index);
  switch (given.tag) {
    case PLUG_VALUE_REF: return b.widen(value(given.as.i), type);
    case PLUG_VALUE_BOOL:
    case PLUG_VALUE_INT: return b.integer(given.as.i, type);
    case PLUG_VALUE_FLOAT: return b.number(given.as.f, type);
    case PLUG_VALUE_SYMBOL: return b.size(symbol(given.as.i), type);
    default:
      fail(PLUG_UNSUPPORTED, op_.schema, " has an argument ", index, " that is neither tensor nor number.");
  }
}

Tensor Node::rounded(std::size_t index, Type type) const {
  Tensor made = operand(index, type);
  if (arg(index).tag == PLUG_VALUE_REF) return made;
  return b.convert({computed(type), made.sizes, made.expr}, type);
}

double Node::real(std::size_t index) const {
  const plug_value& given = arg(index);
  if (given.tag == PLUG_VALUE_FLOAT) return given.as.f;
  return static_cast<double>(integer(index));
}

std::int64_t Node::integer(std::size_t index) const {
  const plug_value& given = arg(index);
  const bool is_whole = given.tag == PLUG_VALUE_INT || given.tag == PLUG_VALUE_BOOL;
  if (!is_whole) fail(PLUG_UNSUPPORTED, op_.schema, " has no fixed number as argument ", index, ".");
  return given.as.i;
}

bool Node::is_fraction(std::size_t index) const {
  if (arg(index).tag == PLUG_VALUE_REF) return is_real(tensor(index).type);
  return arg(index).tag == PLUG_VALUE_FLOAT;
}

std::string_view Node::text(std::size_t index) const {
  if (!is_given(index)) return {};
  const plug_value& given = arg(index);
  return given.tag == PLUG_VALUE_STR ? std::string_view(given.as.str, given.count) : std::string_view();
}

Poly Node::size(std::size_t index) const {
  const plug_value& given = arg(index);
  return given.tag == PLUG_VALUE_SYMBOL ? symbol(given.as.i) : Poly(integer(index));
}

std::vector<Poly> Node::sizes(std::size_t index) const {
  const plug_value& given = arg(index);
  std::vector<Poly> made;
  if (given.tag == PLUG_VALUE_INTS) {
    for (std::uint32_t i = 0; i < given.count; ++i) made.emplace_back(given.as.ints[i]);
  } else if (given.tag == PLUG_VALUE_LIST) {
    for (std::uint32_t i = 0; i < given.count; ++i) {
      const plug_value& item = given.as.values[i];
      made.push_back(item.tag == PLUG_VALUE_SYMBOL ? symbol(item.as.i) : Poly(item.as.i));
    }
  } else if (given.tag != PLUG_NONE) {
    made.push_back(size(index));
  }
  return made;
}

std::vector<std::int64_t> Node::integers(std::size_t index) const {
  std::vector<std::int64_t> made;
  for (const Poly& item : sizes(index)) {
    const auto number = item.number();
    if (!number) fail(PLUG_UNSUPPORTED, op_.schema, " needs fixed numbers as argument ", index, ".");
    made.push_back(*number);
  }
  return made;
}

std::vector<std::size_t> Node::dims(std::size_t index, std::size_t rank) const {
  std::vector<std::size_t> made;
  if (rank == 0) return made;
  if (index < node_.arg_count) {
    for (const std::int64_t dim : integers(index)) made.push_back(wrapped(dim, rank));
  }
  for (std::size_t d = 0; made.size() < rank && d < rank && (!is_given(index) || sizes(index).empty()); ++d)
    made.push_back(d);
  return made;
}

Poly Node::start(std::size_t index, const Poly& size) const {
  if (!is_given(index)) return 0;
  const plug_value& given = arg(index);
  if (given.tag == PLUG_VALUE_SYMBOL) {
    if (graph_.symbols[given.as.i]->min < 0)
      fail(PLUG_UNSUPPORTED, "A start that may be negative is not compiled.");
    return symbol(given.as.i);
  }
  const std::int64_t from = integer(index);
  if (const auto fixed = size.number()) {
    return std::clamp<std::int64_t>(from < 0 ? from + *fixed : from, 0, *fixed);
  }
  if (from >= 0) return from;  // where it lies behind the end, there is nothing to read
  for (std::uint32_t s = 0; s < graph_.symbol_count; ++s) {
    if (symbol(s) == size && graph_.symbols[s]->min >= -from) return size + Poly(from);
  }
  fail(PLUG_UNSUPPORTED, "A start from the end of a size that may be smaller is not compiled.");
}

bool Node::is_wanted(std::size_t result) const {
  return result < node_.result_count && node_.results[result] >= 0;
}

const plug_graph_value& Node::declared(std::size_t result) const {
  if (!is_wanted(result))
    fail(PLUG_INTERNAL, op_.schema, " is asked about result ", result, ", which is not there.");
  return *graph_.values[node_.results[result]];
}

Type Node::type(std::size_t result) const {
  const auto known = type_of(declared(result).dtype);
  if (!known) fail(PLUG_UNSUPPORTED, "The compiler has no code for dtype ", declared(result).dtype, ".");
  return *known;
}

Shape Node::shape(std::size_t result) const {
  Shape sizes;
  for (std::int32_t d = 0; d < declared(result).ndim; ++d)
    sizes.push_back(Poly::of_size(declared(result).sizes[d]));
  return sizes;
}

void Node::set(const Tensor& tensor, std::size_t result) {
  if (!is_wanted(result)) return;
  // A size that is known under another name is the same size.
  Tensor made = b.widen(tensor, type(result));
  if (made.rank() == shape(result).size()) {
    const Shape sizes = shape(result);
    bool repeats = false;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      repeats = repeats || (made.sizes[d].is(1) && !sizes[d].is(1));
    if (repeats) made = b.expand(made, sizes);
    made.sizes = sizes;
  } else {
    made = b.expand(made, shape(result));
  }
  values_.at(static_cast<std::size_t>(node_.results[result])) = made;
}

void Node::set_rounded(const Tensor& tensor, std::size_t result) {
  if (is_wanted(result)) set(b.convert(tensor, type(result)), result);
}

}  // namespace torchplug::sim::compiler
