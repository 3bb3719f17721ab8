#include "graph/plug_view.h"

#include "graph/canonical.h"

namespace torchplug::graph {
namespace {

const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

template <class T>
uint32_t length_of(const std::vector<T>& list) {
  return static_cast<uint32_t>(list.size());
}

template <class T>
std::vector<const T*> pointers_to(const std::vector<T>& list) {
  std::vector<const T*> pointers;
  pointers.reserve(list.size());
  for (const T& item : list) pointers.push_back(&item);
  return pointers;
}

// Also of no sizes there is an array: of a NULL a compiler might think that they are not known.
const int64_t* array_of(const std::vector<int64_t>& extents) {
  static constexpr int64_t kNone = 0;
  return extents.empty() ? &kNone : extents.data();
}

plug_symbol view_of_symbol(const Symbol& symbol) {
  return {.size = sizeof(plug_symbol),
          .min = symbol.min,
          .max = symbol.max,
          .hint = symbol.hint,
          .text = symbol.text.c_str()};
}

plug_tensor view_of_constant(const Value& value) {
  // The contract has no pointer to const; a compiler writes into nothing.
  void* data = value.constant->bytes() == 0 ? nullptr : const_cast<void*>(value.constant->data());
  return {.mem = {.base = data, .offset = 0, .device = PLUG_HOST, .flags = 0},
          .dtype = value.type.dtype,
          .ndim = static_cast<int32_t>(value.type.sizes.size()),
          .sizes = array_of(value.type.sizes),
          .strides = array_of(strides_of(value.type)),
          .flags = 0,
          .layout = 0,
          .extra = nullptr};
}

}  // namespace

PlugView::PlugView(const Graph& graph) : bytes_(canonical_bytes(graph)) {
  for (const Symbol& symbol : graph.symbols()) symbols_.push_back(view_of_symbol(symbol));
  for (int32_t input = 0; input < graph.input_count(); ++input) inputs_.push_back(input);
  std::vector<bool> has_strides(graph.values().size());
  for (const int32_t input : inputs_) has_strides[static_cast<size_t>(input)] = true;
  for (const Output& output : graph.outputs()) {
    outputs_.push_back(output.value);
    updates_.push_back(output.updates);
    has_strides[static_cast<size_t>(output.value)] = true;
  }
  constants_.reserve(graph.values().size());  // values_ point into it
  for (size_t i = 0; i < graph.values().size(); ++i) add_value(graph.values()[i], has_strides[i]);
  for (const Node& node : graph.nodes()) add_node(graph, node);

  symbol_pointers_ = pointers_to(symbols_);
  value_pointers_ = pointers_to(values_);
  node_pointers_ = pointers_to(nodes_);
  view_ = {.size = sizeof(plug_graph),
           .symbol_count = length_of(symbols_),
           .value_count = length_of(values_),
           .node_count = length_of(nodes_),
           .input_count = length_of(inputs_),
           .output_count = length_of(outputs_),
           .symbols = symbol_pointers_.data(),
           .values = value_pointers_.data(),
           .nodes = node_pointers_.data(),
           .inputs = inputs_.data(),
           .outputs = outputs_.data(),
           .updates = updates_.data(),
           .flags = graph.flags(),
           .bytes = bytes_.data(),
           .byte_count = bytes_.size()};
}

void PlugView::add_value(const Value& value, bool has_strides) {
  const plug_tensor* data = nullptr;
  if (value.is_constant()) {
    constants_.push_back(view_of_constant(value));
    data = &constants_.back();
  }
  values_.push_back({.size = sizeof(plug_graph_value),
                     .flags = value.flags,
                     .dtype = value.type.dtype,
                     .ndim = static_cast<int32_t>(value.type.sizes.size()),
                     .sizes = array_of(value.type.sizes),
                     .strides = has_strides ? array_of(strides_of(value.type)) : nullptr,
                     .data = data,
                     .name = text_or_null(value.name)});
}

void PlugView::add_node(const Graph& graph, const Node& node) {
  std::vector<plug_value> args;
  args.reserve(node.args.size());
  for (const Argument& argument : node.args) args.push_back(view_of(argument));
  lists_.push_back(std::move(args));
  const Operator& called = graph.operator_of(node);
  nodes_.push_back({.size = sizeof(plug_node),
                    .op = called.place,
                    .schema = called.schema.c_str(),
                    .args = lists_.back().data(),
                    .results = node.results.data(),
                    .arg_count = length_of(node.args),
                    .result_count = length_of(node.results),
                    .source = text_or_null(node.source)});
}

plug_value PlugView::view_of(const Argument& argument) {
  plug_value view{};
  view.tag = argument.tag();
  if (const auto* integer = std::get_if<int64_t>(&argument.payload())) {
    view.as.i = *integer;
  } else if (const auto* natural = std::get_if<uint64_t>(&argument.payload())) {
    view.as.u = *natural;
  } else if (const auto* number = std::get_if<double>(&argument.payload())) {
    view.as.f = *number;
  } else if (const auto* text = std::get_if<std::string>(&argument.payload())) {
    view.count = static_cast<uint32_t>(text->size());
    view.as.str = text->c_str();
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&argument.payload())) {
    view.count = length_of(*ints);
    view.as.ints = ints->data();
  } else if (const auto* floats = std::get_if<std::vector<double>>(&argument.payload())) {
    view.count = length_of(*floats);
    view.as.floats = floats->data();
  } else if (const auto* bools = std::get_if<std::vector<uint8_t>>(&argument.payload())) {
    view.count = length_of(*bools);
    view.as.bools = bools->data();
  } else if (const auto* items = std::get_if<std::vector<Argument>>(&argument.payload())) {
    std::vector<plug_value> list;
    list.reserve(items->size());
    for (const Argument& item : *items) list.push_back(view_of(item));
    lists_.push_back(std::move(list));
    view.count = length_of(*items);
    view.as.values = lists_.back().data();
  }
  return view;
}

}  // namespace torchplug::graph
