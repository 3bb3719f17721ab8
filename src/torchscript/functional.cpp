#include "torchscript/functional.h"

#include <torch/csrc/jit/passes/remove_mutation.h>

#include <string>
#include <unordered_set>

#include "torchscript/effects.h"
#include "torchscript/operators.h"

namespace torchplug::torchscript {
namespace {

using torch::jit::Graph;
using torch::jit::Node;

constexpr size_t kConvolutionArguments = 9;

// They give the dtype that they are given, in place or not.
bool keeps_dtype(const std::string& name) {
  static const std::unordered_set<std::string> names{
      "aten::relu_",      "aten::relu6_", "aten::hardtanh_", "aten::leaky_relu_",  "aten::elu_",
      "aten::selu_",      "aten::celu_",  "aten::silu_",     "aten::gelu_",        "aten::mish_",
      "aten::hardswish_", "aten::neg_",   "aten::abs_",      "aten::hardsigmoid_", "aten::threshold_"};
  return names.contains(name);
}

// They give what PyTorch promotes their operands to, unless they write in place.
bool may_promote(const std::string& name) {
  static const std::unordered_set<std::string> names{
      "aten::add_",         "aten::sub_",       "aten::mul_", "aten::sigmoid_", "aten::tanh_",
      "aten::exp_",         "aten::sqrt_",      "aten::pow_", "aten::clamp_",   "aten::rsqrt_",
      "aten::masked_fill_", "aten::clamp_min_", "aten::div_", "aten::log_",     "aten::square_"};
  return names.contains(name);
}

// In PyTorch's words, where it could not be written.
at::Tensor as_written(const at::Tensor& made, const at::Tensor& written) {
  TORCH_CHECK(made.sizes() == written.sizes(), "output with shape ", written.sizes(),
              " doesn't match the broadcast shape ", made.sizes());
  TORCH_CHECK(c10::canCast(made.scalar_type(), written.scalar_type()), "result type ", made.scalar_type(),
              " can't be cast to the desired output type ", written.scalar_type());
  return made.to(written.scalar_type());
}

// Nodes that take the place of others have their scope: so they are found again, wherever they have been
// moved.
c10::Symbol mark() {
  static const c10::Symbol symbol = c10::Symbol::scope("torchplug_keeps_dtype");
  return symbol;
}

class Remover {
 public:
  explicit Remover(const std::shared_ptr<Graph>& graph) : graph_(graph) {}

  void remove() {
    look_through_profiles(graph_->block());
    torch::jit::RemoveTensorMutation(graph_, may_remove);
    keep_dtypes(graph_->block());
  }

 private:
  // Nodes that only note types look like other names of what is written.
  static void look_through_profiles(torch::jit::Block* block) {
    for (Node* node : block->nodes()) {
      for (torch::jit::Block* inner : node->blocks()) look_through_profiles(inner);
      const std::string name = node->kind().toQualString();
      if (!keeps_dtype(name) && !may_promote(name)) continue;
      while (node->input(0)->node()->kind() == c10::prim::profile) {
        Node* const profile = node->input(0)->node();
        profile->output()->replaceAllUsesWith(profile->input());
        profile->destroy();
      }
    }
  }

  static bool may_remove(Node* node) {
    const std::string name = node->kind().toQualString();
    if (!keeps_dtype(name) && !may_promote(name)) return false;
    const auto maker = operator_of(node->input(0)->node());
    if (!maker || may_alias_unsaid(*maker)) return false;  // somebody may see what is written
    if (may_promote(name)) node->setScope(node->scope()->push(mark()));
    return true;
  }

  void keep_dtypes(torch::jit::Block* block) {
    for (auto it = block->nodes().begin(); it != block->nodes().end();) {
      Node* const node = *it;
      ++it;
      for (torch::jit::Block* inner : node->blocks()) keep_dtypes(inner);
      if (node->scope()->name() != mark()) continue;
      node->setScope(node->scope()->parent());
      if (!may_promote(node->kind().toQualString())) keep_dtype(node);
    }
  }

  // What is written keeps its dtype, whatever is written.
  void keep_dtype(Node* made) {
    const torch::jit::WithInsertPoint behind(made->next());
    Node* const typed = graph_->create(keeps_type_symbol(), 1);
    graph_->insertNode(typed);
    typed->output()->setType(made->output()->type());
    made->output()->replaceAllUsesWith(typed->output());
    typed->addInput(made->output());
    typed->addInput(made->input(0));
  }

  const std::shared_ptr<Graph>& graph_;
};

}  // namespace

void name_convolutions(torch::jit::Block* block) {
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    Node* const node = *it;
    ++it;
    for (torch::jit::Block* inner : node->blocks()) name_convolutions(inner);
    if (node->kind() != c10::aten::_convolution) continue;
    Node* const made = node->owningGraph()->create(c10::aten::convolution, 1);
    for (size_t i = 0; i < kConvolutionArguments; ++i) made->addInput(node->input(i));
    made->copyMetadata(node);
    made->insertBefore(node);
    made->output()->copyMetadata(node->output());
    node->output()->replaceAllUsesWith(made->output());
    node->destroy();
  }
}

c10::Symbol keeps_type_symbol() {
  static const c10::Symbol symbol = c10::Symbol::fromQualString("torchplug::keeps_type");
  return symbol;
}

torch::jit::Operator make_keeps_type() {
  return {"torchplug::keeps_type(Tensor(a) made, Tensor written) -> Tensor(a)",
          [](torch::jit::Stack& stack) {
            const at::Tensor written = torch::jit::pop(stack).toTensor();
            const at::Tensor made = torch::jit::pop(stack).toTensor();
            torch::jit::push(stack, as_written(made, written));
          },
          c10::AliasAnalysisKind::FROM_SCHEMA};
}

void make_functional(const std::shared_ptr<Graph>& graph) { Remover(graph).remove(); }

}  // namespace torchplug::torchscript
