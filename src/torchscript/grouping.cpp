#include "torchscript/grouping.h"

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "torchscript/compilation_group.h"
#include "torchscript/effects.h"
#include "torchscript/functional.h"
#include "torchscript/tape.h"

namespace torchplug::torchscript {
namespace {

using torch::jit::AliasDb;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace attr = torch::jit::attr;
namespace prim = c10::prim;

using Segment = std::vector<Node*>;  // nodes that follow each other, but for constants

// Nothing is edited while it looks for nodes: what it knows of aliases holds for the graph as it is.
class Finder {
 public:
  Finder(const std::shared_ptr<Graph>& graph, const Operators& operators, int64_t min_nodes)
      : aliases_(graph), operators_(operators), min_nodes_(min_nodes) {
    may_move_ = !writes_unsaid_alias(graph->block());
    look_at(graph->block());
  }

  const std::vector<Segment>& segments() const { return segments_; }

 private:
  NodeKind kind_of(Node* node) {
    const auto [found, is_new] = kinds_.try_emplace(node, NodeKind::kOther);
    if (is_new && !aliases_.hasWriters(node)) found->second = operators_.kind_of(node);
    return kinds_.at(node);
  }

  bool may_group(Node* node) { return kind_of(node) != NodeKind::kOther; }

  // Whether something is written that may be something else, which PyTorch does not know.
  bool writes_unsaid_alias(Block* block) {
    for (Node* node : block->nodes()) {
      const auto op = operator_of(node);
      if (op && may_alias_unsaid(*op) && aliases_.hasOutputWriters(node)) return true;
      for (Block* inner : node->blocks())
        if (writes_unsaid_alias(inner)) return true;
    }
    return false;
  }

  void look_at(Block* block) {
    if (may_move_) move_others(block);
    Segment segment;
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) look_at(inner);
      if (node->kind() == prim::Constant) continue;
      if (may_group(node)) {
        segment.push_back(node);
      } else {
        close(segment);
      }
    }
    close(segment);
  }

  // Nodes that stand between, and depend on none of those that may be grouped, go before these.
  void move_others(Block* block) {
    Node* first = nullptr;
    std::unordered_set<const Node*> members;
    for (auto it = block->nodes().begin(); it != block->nodes().end();) {
      Node* const node = *it;
      ++it;
      if (node->kind() == prim::Constant) continue;
      if (may_group(node)) {
        if (first == nullptr) first = node;
        members.insert(node);
      } else if (first != nullptr &&
                 (needs(node, members) || !aliases_.moveBeforeTopologicallyValid(node, first))) {
        first = nullptr;
        members.clear();
      }
    }
  }

  static bool needs(const Node* node, const std::unordered_set<const Node*>& members) {
    const auto is_member = [&](const Value* value) { return members.contains(value->node()); };
    if (std::ranges::any_of(node->inputs(), is_member)) return true;
    for (const Block* block : node->blocks()) {
      if (std::ranges::any_of(block->outputs(), is_member)) return true;
      for (const Node* inner : block->nodes())
        if (needs(inner, members)) return true;
    }
    return false;
  }

  // From the first to the last that is work for the device or a view, if enough of them are work.
  void close(Segment& given) {
    Segment segment = std::exchange(given, {});
    const auto is_glue = [&](Node* node) { return kind_of(node) == NodeKind::kGlue; };
    while (!segment.empty() && is_glue(segment.back())) segment.pop_back();
    segment.erase(segment.begin(), std::ranges::find_if_not(segment, is_glue));
    const auto count =
        std::ranges::count_if(segment, [&](Node* node) { return kind_of(node) == NodeKind::kCompute; });
    if (count > 0 && count >= min_nodes_) segments_.push_back(std::move(segment));
  }

  AliasDb aliases_;
  const Operators& operators_;
  int64_t min_nodes_;
  bool may_move_ = true;
  std::unordered_map<const Node*, NodeKind> kinds_;
  std::vector<Segment> segments_;
};

// Shapes are found out when the group runs.
c10::TypePtr unshaped(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::TensorType ? c10::TypePtr(c10::TensorType::get()) : type;
}

// Numbers, and tensors that stand for numbers; all others the group is given, as weights.
bool belongs_inside(const Node* constant) {
  const auto value = torch::jit::toIValue(constant->output());
  if (!value) return false;
  const std::vector<at::Tensor> tensors = tensors_in({*value});
  return std::ranges::all_of(tensors, [&](const at::Tensor& one) {
    return !one.defined() || (value->isTensor() && one.is_cpu() && one.dim() == 0);
  });
}

// Puts the nodes of a segment into a group.
class Merger {
 public:
  Merger(const Segment& segment, GroupUse use)
      : segment_(segment),
        use_(use),
        members_(segment.begin(), segment.end()),
        outer_(segment.back()->owningGraph()),
        group_(outer_->create(group_symbol(), 0)),
        graph_(std::make_shared<Graph>(outer_->current_scope())) {}

  void merge() {
    for (Node* node : segment_) copy(node);
    group_->insertAfter(segment_.back());
    for (Node* node : segment_)
      for (Value* output : node->outputs()) give(output);
    group_->g_(attr::Subgraph, graph_);
    group_->is_(weights_symbol(), std::move(weights_));
    if (use_ == GroupUse::kLowered) group_->i_(lowered_symbol(), 1);
    for (auto node = segment_.rbegin(); node != segment_.rend(); ++node) (*node)->destroy();
  }

 private:
  void copy(Node* node) {
    if (node->kind() == prim::profile) {
      inside_[node->output()] = inner(node->input());
      outside_[node->output()] = outside_of(node->input());
      return;
    }
    Node* made = graph_->createClone(node, [&](Value* value) { return inner(value); });
    graph_->insertNode(made);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      made->output(i)->setType(unshaped(node->output(i)->type()));
      inside_[node->output(i)] = made->output(i);
    }
  }

  Value* outside_of(Value* value) const {
    const auto found = outside_.find(value);
    return found == outside_.end() ? value : found->second;
  }

  Value* inner(Value* value) {
    const auto known = inside_.find(value);
    if (known != inside_.end()) return known->second;
    while (value->node()->kind() == prim::profile) value = value->node()->input();
    const auto found = inside_.find(value);
    if (found != inside_.end()) return found->second;
    Node* maker = value->node();
    if (maker->kind() == prim::Constant && belongs_inside(maker)) {
      const torch::jit::WithInsertPoint front(*graph_->nodes().begin());
      Node* made = graph_->insertNode(graph_->createClone(maker, [](Value* one) { return one; }));
      return inside_[value] = made->output();
    }
    if (maker->kind() == prim::GetAttr || maker->kind() == prim::Constant)
      weights_.push_back(static_cast<int64_t>(group_->inputs().size()));
    group_->addInput(value);
    Value* input = graph_->addInput();
    input->setType(unshaped(value->type()));
    return inside_[value] = input;
  }

  // What is used elsewhere is a result; a type that PyTorch has only noted stays what it is of.
  void give(Value* value) {
    const auto is_elsewhere = [&](const torch::jit::Use& use) { return !members_.contains(use.user); };
    if (std::ranges::none_of(value->uses(), is_elsewhere)) return;
    Value* made = inside_.at(value);
    if (made->node()->kind() == prim::Param && value->node()->kind() == prim::profile)
      return value->replaceAllUsesWith(outside_of(value));
    const auto known = given_.find(made);
    if (known != given_.end()) return value->replaceAllUsesWith(known->second);
    graph_->registerOutput(made);
    Value* result = group_->addOutput();
    result->setType(value->type());
    given_[made] = result;
    value->replaceAllUsesWith(result);
  }

  const Segment& segment_;
  GroupUse use_;
  std::unordered_set<const Node*> members_;
  Graph* outer_;
  Node* group_;
  std::shared_ptr<Graph> graph_;
  std::unordered_map<Value*, Value*> inside_;
  std::unordered_map<Value*, Value*> outside_;  // of what only notes types: what it is of
  std::unordered_map<Value*, Value*> given_;
  std::vector<int64_t> weights_;
};

}  // namespace

size_t make_groups(const std::shared_ptr<Graph>& graph, const Operators& operators, int64_t min_nodes,
                   GroupUse use) {
  name_convolutions(graph->block());
  make_functional(graph);
  const Finder finder(graph, operators, min_nodes);
  for (const Segment& segment : finder.segments()) Merger(segment, use).merge();
  return finder.segments().size();
}

}  // namespace torchplug::torchscript
