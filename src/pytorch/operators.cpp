#include "pytorch/operators.h"

#include <c10/util/Exception.h>

#include <mutex>
#include <string_view>

#include "aten/kernel/binding.h"
#include "aten/own/own_library.h"
#include "aten/own/own_operator.h"
#include "plugin/layers/layers.h"

namespace torchplug::pytorch {
namespace {

std::mutex preparing;

// "f" of "other::f.Tensor(Tensor x) -> Tensor".
std::string short_name(std::string_view schema) {
  std::string_view name = schema.substr(0, schema.find('('));
  if (const size_t end = name.find("::"); end != std::string_view::npos) name.remove_prefix(end + 2);
  return std::string(name);
}

// What no operator of PyTorch's has the schema of was meant to be one of the plugin's own.
void refuse_other_namespaces(const Module& module) {
  if (module.has_runtime) return;
  for (const plug_kernel& kernel : module.kernels) {
    if (is_own_kernel(module, kernel) || is_known_operator(kernel)) continue;
    TORCH_CHECK(false, "Plugin '", module.name, "' has no device, and its kernel for \"", kernel.schema,
                "\" is not for an operator of its own, which is in the namespace of its name. Write \"",
                module.name, "::", short_name(kernel.schema), "(...\".");
  }
}

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
    refuse_other_namespaces(module);
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
