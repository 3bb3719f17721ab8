#include "aten/kernel/served_operators.h"

#include <atomic>
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
void remove_served_operator(const std::string& name) { served_operators().erase(name); }

namespace {

std::atomic<const plugin::Module*> with_any{nullptr};

}  // namespace

void set_module_with_any(const plugin::Module* module) { with_any = module; }

const plugin::Module* module_with_any() { return with_any; }

bool has_kernel(const std::string& name) { return served_operators().contains(name); }

}  // namespace torchplug::aten
