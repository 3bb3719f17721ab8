#pragma once
// The pass over TorchScript graphs that makes groups. PyTorch runs it on each function that it optimises,
// before its own fusers; on the thread that calls the function.

#include <torch/csrc/jit/ir/ir.h>

#include <memory>

#include "torchscript/operators.h"

namespace torchplug::torchscript {

enum class GroupUse {
  kEnabled,  // while groups are enabled
  kLowered   // always, on the device: the module was lowered to it
};

// How many groups it has made of nodes of the graph and of its blocks.
size_t make_groups(const std::shared_ptr<torch::jit::Graph>& graph, const Operators& operators,
                   int64_t min_nodes, GroupUse use = GroupUse::kEnabled);

}  // namespace torchplug::torchscript
