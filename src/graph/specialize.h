#pragma once
// A graph for calls of one shape: numbers in the place of symbols, for a compiler that takes none.

#include <cstdint>
#include <span>

#include "base/namespaces.h"
#include "graph/graph.h"

namespace torchplug::graph {

// `numbers`: of each symbol.
Graph with_numbers(const Graph& graph, std::span<const int64_t> numbers);

// What an extent stands for in a call.
inline int64_t value_of(int64_t extent, std::span<const int64_t> numbers) {
  return is_symbolic(extent) ? numbers[static_cast<size_t>(symbol_of(extent))] : extent;
}
std::vector<int64_t> values_of(const std::vector<int64_t>& extents, std::span<const int64_t> numbers);

}  // namespace torchplug::graph
