#include "torchscript/random.h"

namespace torchplug::torchscript {

bool draws_random(const c10::OperatorHandle& op,
                  const std::function<std::optional<c10::IValue>(const std::string& name)>& known) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  for (const char* name : {"train", "training"}) {
    const auto trains = known(name);
    if (trains && trains->isBool() && !trains->toBool()) return false;
  }
  const auto share = known("dropout_p");
  return !share || !share->isDouble() || share->toDouble() != 0.0;
}

bool draws_random(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  return draws_random(op, [&](const std::string& name) -> std::optional<c10::IValue> {
    const auto place = op.schema().argumentIndexWithName(name);
    if (!place) return std::nullopt;
    return arguments[static_cast<size_t>(*place)];
  });
}

}  // namespace torchplug::torchscript
