#include "pytorch/operators.h"

#include <mutex>

#include "aten/kernel/binding.h"
#include "aten/own/own_library.h"
#include "aten/own/own_operator.h"
#include "plugin/layers/layers.h"

namespace torchplug::pytorch {
namespace {

std::mutex preparing;

// A plugin without a device has no use for kernels of other operators than its own.
void report_other_kernels(const Module& module) {
  for (const plug_kernel& kernel : module.kernels) {
    if (is_own_kernel(module, kernel)) continue;
    report_unused_kernel(
        kernel, module.name,
        "the plugin has no device, and the operator is not in its namespace '" + module.name + "'");
  }
}

}  // namespace

void prepare_operators(Module& module) {
  const std::lock_guard lock(preparing);
  const bool is_first = !module.is_layered;
  const Module given = module;
  try {
    apply_layers(module);
    define_own_operators(module);
  } catch (...) {
    module = given;
    throw;
  }
  if (is_first && !module.has_runtime) report_other_kernels(module);
}

std::vector<std::string> load_operators(const std::string& path) {
  Module& module = load_module(path);
  prepare_operators(module);
  std::vector<std::string> names;
  for (const OwnOperatorEntry& entry : own_operators(module)) names.push_back(entry.name);
  return names;
}

}  // namespace torchplug::pytorch
