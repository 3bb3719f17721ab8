#pragma once
// Operators of TorchScript graphs that write in place, as those that do not, where nobody can tell: what they
// write is new, and nobody else looks at it. Part of the pass that makes groups.

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <memory>

#include "base/namespaces.h"

namespace torchplug::torchscript {

// Convolutions as traces have them, with flags of other devices' libraries, under the name that compilers
// list.
void name_convolutions(torch::jit::Block* block);

void make_functional(const std::shared_ptr<torch::jit::Graph>& graph);

// What stands behind each of them: its result as if it had been written into the tensor, of whose dtype and
// sizes it has to be. An operator of TorchScript's interpreter.
c10::Symbol keeps_type_symbol();
torch::jit::Operator make_keeps_type();

}  // namespace torchplug::torchscript
