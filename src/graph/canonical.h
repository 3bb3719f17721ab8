#pragma once
// A graph in canonical bytes: equal graphs have equal bytes, and only they. All that a compiler can compile
// differently is in them: every number, dtype, size, stride, flag, schema and its place, the order of inputs,
// outputs, symbols and nodes, and of each constant the digest. Names, sources, hints and texts of symbols are
// not, nor the strides of values that are neither inputs nor outputs, nor how values and operators are
// numbered.

#include <cstdint>
#include <vector>

#include "base/namespaces.h"
#include "graph/graph.h"

namespace torchplug::graph {

std::vector<uint8_t> canonical_bytes(const Graph& graph);
Digest digest_of(const Graph& graph);  // of those bytes

}  // namespace torchplug::graph
