#include "torchscript/effects.h"

#include <algorithm>
#include <array>

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

}  // namespace torchplug::torchscript
