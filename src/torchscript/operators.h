#pragma once
// Which nodes of a TorchScript graph may be in a group: operators that the compiler lists, those that PyTorch
// makes of others, and the numbers and lists that stand between them. Asked while a graph is optimised; any
// thread.

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/ir.h>

#include <optional>

#include "compile/compiler.h"
#include "torchscript/entry.h"

namespace torchplug::torchscript {

enum class NodeKind {
  kOther,    // not for a group
  kCompute,  // work for the device
  kView,     // shares memory with what it is given
  kGlue      // of the host: sizes, numbers, lists; the same in every call of a kind
};

// Whether PyTorch has seen tensors in calls of these nodes, and none of the device.
bool is_elsewhere(const torch::jit::Block* block);

// The operator that PyTorch's dispatcher has for a node.
std::optional<c10::OperatorHandle> operator_of(const torch::jit::Node* node);

class Operators {
 public:
  // `offload`: tensors of the CPU are as good as the device's. `decompositions`: may be null; live as long.
  Operators(const compile::Compiler& compiler, bool offload, const Decompositions* decompositions)
      : compiler_(compiler), offload_(offload), decompositions_(decompositions) {}

  // Of a node that writes nothing and that nobody writes to.
  NodeKind kind_of(const torch::jit::Node* node) const;

 private:
  bool is_elsewhere(const torch::jit::Node* node) const;
  NodeKind kind_of_operator(const torch::jit::Node* node, const c10::OperatorHandle& op) const;

  const compile::Compiler& compiler_;
  bool offload_;
  const Decompositions* decompositions_;
};

}  // namespace torchplug::torchscript
