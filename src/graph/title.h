#pragma once
// What people are told of a graph: which operators it has, and where they were written.

#include <string>

#include "base/namespaces.h"
#include "graph/graph.h"

namespace torchplug::graph {

// "engine(mul, add, softmax)"; of more than a few operators the first and how many more there are.
std::string title_of(const Graph& graph);

// "model.py:31 layers.0.norm to model.py:40"; "" if no node knows.
std::string source_of(const Graph& graph);

}  // namespace torchplug::graph
