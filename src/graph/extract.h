#pragma once
// A group of nodes as a graph of its own. Its inputs, symbols and constants stand in the order in which its
// nodes first name them, so that groups that are alike have equal canonical bytes.

#include <cstdint>
#include <span>
#include <vector>

#include "base/namespaces.h"
#include "graph/graph.h"

namespace torchplug::graph {

struct Extracted {
  Graph graph;
  // What the parts of `graph` are in the whole:
  std::vector<int32_t> inputs;   // values
  std::vector<int32_t> outputs;  // values
  std::vector<int32_t> symbols;
  std::vector<int32_t> nodes;
};

// Made once for a graph, which outlives it and does not change; any thread may use it.
class Extractor {
 public:
  explicit Extractor(const Graph& graph);

  // Of nodes in the graph's order. Outputs are what nodes outside or the whole graph's outputs need; nodes
  // that none of these need are left out, which may be all. An output is the new content of an input, as the
  // whole graph says, if nobody outside needs the old one and the output is not returned too: the host copies
  // otherwise. Nodes outside that use such an output look at the input. A returned view counts as what it is
  // a view of, so outputs() of the whole name that.
  Extracted extract(std::span<const int32_t> nodes) const;

 private:
  friend class Extraction;

  const Graph& graph_;
  std::vector<std::vector<int32_t>> users_;    // the nodes that name each value
  std::vector<std::vector<int32_t>> outputs_;  // the places of each value among the outputs
};

}  // namespace torchplug::graph
