#include "aten/kernel/served_operators.h"

#include <atomic>
#include <unordered_map>

#include "base/immortal.h"

namespace torchplug::aten {
namespace {

using KernelsByOperator = std::unordered_map<std::string, const plug_kernel*>;

KernelsByOperator& served_operators() {
  static auto& kernels = *immortal<KernelsByOperator>();
  return kernels;
}

}  // namespace

void add_served_operator(const std::string& name, const plug_kernel& kernel) {
  served_operators().insert_or_assign(name, &kernel);
}
void remove_served_operator(const std::string& name) { served_operators().erase(name); }

namespace {

std::atomic<const plugin::Module*> with_any{nullptr};

}  // namespace

void set_module_with_any(const plugin::Module* module) { with_any = module; }

const plugin::Module* module_with_any() { return with_any; }

bool has_kernel(const std::string& name) { return kernel_of(name) != nullptr; }

const plug_kernel* kernel_of(const std::string& name) {
  const auto found = served_operators().find(name);
  return found == served_operators().end() ? nullptr : found->second;
}

}  // namespace torchplug::aten
