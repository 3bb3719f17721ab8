#include "torchscript/effects.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace torchplug::torchscript {
namespace {

// Whether it is said that the operator does not train.
bool is_at_rest(const KnownArgument& known) {
  static constexpr std::array kNames{"train", "training", "use_input_stats"};
  return std::ranges::any_of(kNames, [&](const char* name) {
    const auto trains = known(name);
    return trains && trains->isBool() && !trains->toBool();
  });
}

}  // namespace

KnownArgument arguments_of(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  return [&op, arguments](const std::string& name) -> std::optional<c10::IValue> {
    const auto place = op.schema().argumentIndexWithName(name);
    if (!place) return std::nullopt;
    return arguments[static_cast<size_t>(*place)];
  };
}

bool draws_random(const c10::OperatorHandle& op, const KnownArgument& known) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded) || is_at_rest(known)) return false;
  const auto share = known("dropout_p");
  return !share || !share->isDouble() || share->toDouble() != 0.0;
}

bool writes_unsaid(const c10::OperatorHandle& op, const KnownArgument& known) {
  const auto& arguments = op.schema().arguments();
  const auto is_statistic = [](const c10::Argument& one) {
    return one.name() == "running_mean" && one.alias_info() == nullptr;
  };
  return std::ranges::any_of(arguments, is_statistic) && !is_at_rest(known) &&
         op.operator_name().name.find("legit") == std::string::npos &&
         op.operator_name().name.find("backward") == std::string::npos;
}

// PyTorch's operators that are made of others give whatever these give.
bool may_alias_unsaid(const c10::OperatorHandle& op) {
  static const std::unordered_set<std::string> new_ones{
      "aten::linear",      "aten::matmul",           "aten::conv1d",
      "aten::conv2d",      "aten::conv3d",           "aten::conv_transpose1d",
      "aten::batch_norm",  "aten::conv_transpose2d", "aten::conv_transpose3d",
      "aten::layer_norm",  "aten::group_norm",       "aten::instance_norm",
      "aten::max_pool2d",  "aten::max_pool1d",       "aten::adaptive_avg_pool2d",
      "aten::softmax",     "aten::log_softmax",      "aten::scaled_dot_product_attention",
      "aten::convolution", "aten::_convolution",     "aten::silu",
      "aten::bilinear",    "aten::rms_norm",         "aten::max_pool3d"};
  const auto& returns = op.schema().returns();
  const auto says = [](const c10::Argument& one) { return one.alias_info() != nullptr; };
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         !std::ranges::any_of(returns, says) && !new_ones.contains(op.operator_name().name);
}

}  // namespace torchplug::torchscript
