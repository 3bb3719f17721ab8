#pragma once
// A graph as a compiler sees it: the arrays of a plug_graph, which point into the Graph. Valid while both
// live and the Graph is not changed. Any thread may read it.

#include <cstdint>
#include <deque>
#include <vector>

#include "base/namespaces.h"
#include "graph/graph.h"
#include "torchplug/plug.h"

namespace torchplug::graph {

class PlugView {
 public:
  explicit PlugView(const Graph& graph);
  explicit PlugView(Graph&&) = delete;  // nobody would keep it
  PlugView(const PlugView&) = delete;
  PlugView& operator=(const PlugView&) = delete;

  const plug_graph* get() const { return &view_; }

 private:
  void add_value(const Value& value, bool has_strides);
  void add_node(const Graph& graph, const Node& node);
  plug_value view_of(const Argument& argument);

  plug_graph view_{};
  std::vector<plug_symbol> symbols_;
  std::vector<plug_graph_value> values_;
  std::vector<plug_tensor> constants_;
  std::vector<plug_node> nodes_;
  std::deque<std::vector<plug_value>> lists_;
  std::vector<const plug_symbol*> symbol_pointers_;
  std::vector<const plug_graph_value*> value_pointers_;
  std::vector<const plug_node*> node_pointers_;
  std::vector<int32_t> inputs_;
  std::vector<int32_t> outputs_;
  std::vector<int32_t> updates_;
  std::vector<uint8_t> bytes_;
};

}  // namespace torchplug::graph
