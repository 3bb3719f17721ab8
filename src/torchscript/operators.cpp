#include "torchscript/operators.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <unordered_set>

#include "aten/plan/operator_facts.h"
#include "torchscript/effects.h"
#include "torchscript/functional.h"

namespace torchplug::torchscript {
namespace {

using torch::jit::Node;
using torch::jit::Value;
namespace aten_names = c10::aten;
namespace prim = c10::prim;

constexpr int kDeepest = 16;  // of arithmetic with sizes

bool is_plain(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType: return true;
    case c10::TypeKind::OptionalType: return is_plain(type->castRaw<c10::OptionalType>()->getElementType());
    case c10::TypeKind::ListType: {
      const c10::TypePtr& element = type->castRaw<c10::ListType>()->getElementType();
      return element->kind() != c10::TypeKind::ListType && is_plain(element);
    }
    default: return false;
  }
}

bool has_tensors(const Value* value) {
  const auto has = [](const auto& has_it, const c10::TypePtr& type) -> bool {
    if (type->isSubtypeOf(*c10::TensorType::get())) return true;
    return std::ranges::any_of(type->containedTypes(), [&](const auto& one) { return has_it(has_it, one); });
  };
  return has(has, value->type());
}

bool is_tensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

// A tensor that is made of sizes alone, as traces have them, and that the host may look into.
bool is_of_sizes(const Value* value, int depth = 0) {
  const Node* node = value->node();
  if (node->kind() == prim::NumToTensor) return true;
  if (node->kind() == prim::Constant) {
    const auto constant = torch::jit::toIValue(value);
    return constant && constant->isTensor() && constant->toTensor().is_cpu() &&
           constant->toTensor().dim() == 0;
  }
  const bool is_kind = node->kind().is_aten() || node->kind() == prim::profile;
  if (depth > kDeepest || !is_kind || node->inputs().empty()) return false;
  return std::ranges::all_of(
      node->inputs(), [&](const Value* input) { return !is_tensor(input) || is_of_sizes(input, depth + 1); });
}

bool is_glue_of_pytorch(const Node* node) {
  static const std::unordered_set<c10::Symbol> kinds{
      prim::ListConstruct, prim::ListUnpack, prim::NumToTensor,    prim::dtype, prim::layout,
      prim::device,        prim::profile,    prim::unchecked_cast, prim::min,   prim::max,
      aten_names::size,    aten_names::dim,  aten_names::len};
  return kinds.contains(node->kind());
}

// Between numbers, texts and lists of them, by PyTorch's interpreter; or from a tensor of sizes to a number.
bool is_arithmetic(const Node* node) {
  if (!node->kind().is_aten() && !node->kind().is_prim()) return false;
  const auto* schema = node->maybeSchema();
  if (schema == nullptr || schema->is_mutable()) return false;
  const auto is_number = [](const Value* value) { return !is_tensor(value) || is_of_sizes(value); };
  return std::ranges::all_of(node->inputs(), is_number) && std::ranges::none_of(node->outputs(), is_tensor);
}

// Arithmetic of tensors of sizes.
bool is_about_sizes(const Node* node) {
  const auto* schema = node->maybeSchema();
  return schema != nullptr && !schema->is_mutable() && std::ranges::any_of(node->inputs(), is_tensor) &&
         std::ranges::all_of(node->outputs(), [](const Value* output) { return is_of_sizes(output); });
}

bool is_composite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ||
         (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) &&
          !op.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1));
}

bool gives_tensors(const Node* node) {
  return !node->outputs().empty() && std::ranges::all_of(node->outputs(), [](const Value* output) {
    return is_tensor(output) || output->type()->isSubtypeOf(*c10::ListType::ofTensors());
  });
}

bool gives_view(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.returns(), [](const c10::Argument& one) {
    return one.alias_info() != nullptr && !one.alias_info()->isWrite();
  });
}

bool is_device(const Value* value) {
  const auto optional = value->type()->cast<c10::OptionalType>();
  return (optional ? optional->getElementType() : value->type())->kind() == c10::TypeKind::DeviceObjType;
}

bool is_none(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  return constant && constant->isNone();
}

// Where it is, or looks where something is: on the device its answer would be another. Results that are made
// where some tensor is are made there too.
bool chooses_device(const Node* node) {
  const auto is_given = [](const Value* value) { return is_device(value) && !is_none(value); };
  const auto is_other = [&](const Value* value) {
    return is_given(value) && value->node()->kind() != prim::device;
  };
  if (std::ranges::any_of(node->inputs(), is_given))
    return !gives_tensors(node) || std::ranges::any_of(node->inputs(), is_other);
  return gives_tensors(node) && node->kind() != prim::NumToTensor &&
         std::ranges::none_of(node->inputs(), has_tensors);
}

// What is known of a node's arguments before it runs.
KnownArgument constants_of(const Node* node) {
  return [node](const std::string& name) -> std::optional<c10::IValue> {
    if (!node->hasNamedInput(name)) return std::nullopt;
    return torch::jit::toIValue(node->namedInput(name));
  };
}

// On which devices PyTorch has seen tensors, in the calls that it has looked at.
struct Seen {
  bool is_here = false;
  bool is_there = false;

  void add(const Node* node) {
    if (node->kind() != prim::profile || !node->hasAttribute(torch::jit::attr::profiled_type)) return;
    const auto type = node->ty(torch::jit::attr::profiled_type)->cast<c10::TensorType>();
    if (type == nullptr || !type->device()) return;
    (type->device()->type() == kDeviceType ? is_here : is_there) = true;
  }
  void add(const torch::jit::Block* block) {
    for (const Node* node : block->nodes()) {
      add(node);
      for (const torch::jit::Block* inner : node->blocks()) add(inner);
    }
  }
};

}  // namespace

std::optional<c10::OperatorHandle> operator_of(const Node* node) {
  const auto* schema = node->maybeSchema();
  if (schema == nullptr) return std::nullopt;
  return c10::Dispatcher::singleton().findSchema({schema->name(), schema->overload_name()});
}

NodeKind Operators::kind_of(const Node* node) const {
  if (!node->blocks().empty() || node->hasAttribute(torch::jit::attr::Subgraph)) return NodeKind::kOther;
  if (node->kind() == prim::Constant || node->hasSideEffects()) return NodeKind::kOther;
  if (offload_ && chooses_device(node)) return NodeKind::kOther;
  const auto has_plain_type = [](const Value* value) { return is_plain(value->type()); };
  if (!std::ranges::all_of(node->inputs(), has_plain_type)) return NodeKind::kOther;
  if (!std::ranges::all_of(node->outputs(), has_plain_type)) return NodeKind::kOther;
  if (is_glue_of_pytorch(node)) return NodeKind::kGlue;
  if (is_about_sizes(node)) return NodeKind::kGlue;
  if (is_elsewhere(node)) return NodeKind::kOther;
  if (node->kind() == prim::ConstantChunk || node->kind() == keeps_type_symbol()) return NodeKind::kView;
  const auto op = operator_of(node);
  if (op && gives_tensors(node)) return kind_of_operator(node, *op);
  return is_arithmetic(node) ? NodeKind::kGlue : NodeKind::kOther;
}

NodeKind Operators::kind_of_operator(const Node* node, const c10::OperatorHandle& op) const {
  if (op.schema().is_mutable() || draws_random(op, constants_of(node)) ||
      writes_unsaid(op, constants_of(node)) || op.hasTag(at::Tag::data_dependent_output) ||
      op.hasTag(at::Tag::dynamic_output_shape))
    return NodeKind::kOther;
  const std::string name = aten::full_name(op.operator_name());
  const bool is_apart = decompositions_ != nullptr && decompositions_->names.contains(name);
  if (compiler_.find(name) == nullptr && !is_composite(op) && !is_apart) return NodeKind::kOther;
  return gives_view(op.schema()) ? NodeKind::kView : NodeKind::kCompute;
}

bool Operators::is_elsewhere(const Node* node) const {
  if (offload_) return false;
  Seen seen;
  for (const Value* input : node->inputs()) seen.add(input->node());
  return seen.is_there && !seen.is_here;
}

bool is_elsewhere(const torch::jit::Block* block) {
  Seen seen;
  seen.add(block);
  return seen.is_there && !seen.is_here;
}

}  // namespace torchplug::torchscript
