#include "graph/specialize.h"

#include <algorithm>

namespace torchplug::graph {

std::vector<int64_t> values_of(const std::vector<int64_t>& extents, std::span<const int64_t> numbers) {
  std::vector<int64_t> values;
  values.reserve(extents.size());
  for (const int64_t extent : extents) values.push_back(value_of(extent, numbers));
  return values;
}

namespace {

TensorType with_numbers(const TensorType& type, std::span<const int64_t> numbers) {
  TensorType known{type.dtype, values_of(type.sizes, numbers), std::nullopt};
  if (type.strides) known.strides = values_of(*type.strides, numbers);
  return known;
}

// A list of integers that had symbols among them is a list of integers.
Argument joined(std::vector<Argument> items) {
  const auto is_integer = [](const Argument& item) { return item.tag() == PLUG_VALUE_INT; };
  if (!std::ranges::all_of(items, is_integer) || items.empty()) return Argument::list(std::move(items));
  std::vector<int64_t> integers;
  integers.reserve(items.size());
  for (const Argument& item : items) integers.push_back(item.as<int64_t>());
  return Argument::ints(std::move(integers));
}

Argument with_numbers(const Argument& argument, std::span<const int64_t> numbers) {
  if (argument.tag() == PLUG_VALUE_SYMBOL)
    return Argument::integer(numbers[static_cast<size_t>(argument.as<int64_t>())]);
  if (argument.tag() != PLUG_VALUE_LIST) return argument;
  bool has_symbols = false;
  argument.for_each_symbol([&](int32_t /*symbol*/) { has_symbols = true; });
  if (!has_symbols) return argument;
  std::vector<Argument> items;
  for (const Argument& item : argument.as<std::vector<Argument>>())
    items.push_back(with_numbers(item, numbers));
  return joined(std::move(items));
}

}  // namespace

Graph with_numbers(const Graph& graph, std::span<const int64_t> numbers) {
  Graph made;
  made.set_flags(graph.flags());
  // Values keep their numbers: inputs come first, and what follows is added in its order.
  size_t next = 0;
  const auto type_of = [&](int32_t value) {
    return with_numbers(graph.values()[static_cast<size_t>(value)].type, numbers);
  };
  const auto add_constants_before = [&](size_t end) {
    for (; next < end; ++next) {
      const Value& value = graph.values()[next];
      if (!value.is_constant()) continue;
      made.add_constant(value.type.dtype, value.type.sizes, value.constant, value.name);
    }
  };
  for (; next < static_cast<size_t>(graph.input_count()); ++next) {
    const Value& value = graph.values()[next];
    made.add_input(with_numbers(value.type, numbers), value.name, (value.flags & PLUG_GRAPH_WEIGHT) != 0);
  }
  for (const Node& node : graph.nodes()) {
    const auto first = std::ranges::find_if(node.results, [](int32_t result) { return result >= 0; });
    if (first != node.results.end()) add_constants_before(static_cast<size_t>(*first));
    std::vector<Argument> args;
    args.reserve(node.args.size());
    for (const Argument& argument : node.args) args.push_back(with_numbers(argument, numbers));
    std::vector<std::optional<TensorType>> results;
    for (const int32_t result : node.results) {
      results.push_back(result < 0 ? std::nullopt : std::optional(type_of(result)));
      if (result >= 0) next = std::max(next, static_cast<size_t>(result) + 1);
    }
    const Operator& op = graph.operator_of(node);
    made.add_node(made.add_operator(op.schema, op.place), std::move(args), std::move(results), node.source);
  }
  add_constants_before(graph.values().size());
  made.set_outputs(graph.outputs());
  return made;
}

}  // namespace torchplug::graph
