#pragma once
// Operators of TorchScript graphs that write in place, as those that do not, where nobody can tell: what they
// write is new, and nobody else looks at it. Part of the pass that makes groups.

#include <torch/csrc/jit/ir/ir.h>

#include <memory>

#include "base/namespaces.h"

namespace torchplug::torchscript {

// Convolutions as traces have them, with flags of other devices' libraries, under the name that compilers
// list.
void name_convolutions(torch::jit::Block* block);

void make_functional(const std::shared_ptr<torch::jit::Graph>& graph);

}  // namespace torchplug::torchscript
