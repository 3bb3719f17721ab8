#pragma once
// A graph as text that people can read, and that reads back to a graph of the same canonical bytes:
//
//   flags deterministic
//   symbol s0 in 2..1024, hint 64, "batch"
//   operator 3 aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
//   graph(%x: f32[s0, 4], %1: f32[4] weight "layers.0.weight") {
//     %2: f32[4] = constant base64 "AAAAAAAAgD8AAABAAABAQA=="
//     %y: f32[s0, 4] = aten::add.Tensor(%x, %1, alpha=1)  # model.py:31
//     return %y updates %x
//   }
//
// An operator is declared with its place in the compiler's list, or '-'. Strides that are not contiguous
// stand behind the sizes: f32[3, 4; 1, 3]. A value is named by its name where that is a word, else by a
// number with the name behind its type; a result that nobody uses is '_'. Lists are [1, 2], [1.0], [True],
// [%x, None], [s0, 4]; any other, or an empty one, has its kind in front: ints, floats, bools, refs, list.
// Behind '#' stands the source of the node on that line. A constant of more than a few hundred bytes is its
// digest and length alone.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "graph/graph.h"

namespace torchplug::graph {

std::string to_text(const Graph& graph);

// The constant with this digest; null if there is none.
using ConstantSource = std::function<std::shared_ptr<const Constant>(const Digest& digest, uint64_t bytes)>;

// Throws a GraphError with line and column for a text that is none, and for one with a large constant that
// `constants` does not have.
Graph from_text(std::string_view text, const ConstantSource& constants = {});

// "f32"; "dtype(0x30717)" for one without a name.
std::string dtype_text(plug_dtype dtype);
std::optional<plug_dtype> dtype_named(std::string_view name);

}  // namespace torchplug::graph
