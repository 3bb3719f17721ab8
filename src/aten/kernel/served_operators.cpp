#include "aten/kernel/served_operators.h"

#include <unordered_set>

#include "base/immortal.h"

namespace torchplug::aten {
namespace {

std::unordered_set<std::string>& served_operators() {
  static auto& names = *immortal<std::unordered_set<std::string>>();
  return names;
}

}  // namespace

void add_served_operator(const std::string& name) { served_operators().insert(name); }

bool has_kernel(const std::string& name) { return served_operators().contains(name); }

}  // namespace torchplug::aten
