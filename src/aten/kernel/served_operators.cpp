#include "aten/kernel/served_operators.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "base/dtype.h"
#include "base/immortal.h"
#include "runtime/device.h"

namespace torchplug::aten {
namespace {

using KernelsByOperator = std::unordered_map<std::string, const plug_kernel*>;

KernelsByOperator& served_operators() {
  static auto& kernels = *immortal<KernelsByOperator>();
  return kernels;
}

std::atomic<const plugin::Module*> with_any{nullptr};

}  // namespace

void add_served_operator(const std::string& name, const plug_kernel& kernel) {
  served_operators().insert_or_assign(name, &kernel);
}
void remove_served_operator(const std::string& name) { served_operators().erase(name); }

bool has_kernel(const std::string& name) { return kernel_of(name) != nullptr; }

const plug_kernel* kernel_of(const std::string& name) {
  const auto found = served_operators().find(name);
  return found == served_operators().end() ? nullptr : found->second;
}

bool takes_dtype(const plug_kernel& kernel, DeviceIndex device, at::ScalarType type) {
  const auto dtype = to_plug_dtype(type);
  if (!dtype) return false;
  if (kernel.dtypes == nullptr) return device_info(device).holds(*dtype);
  const plug_dtype* end = kernel.dtypes + kernel.dtype_count;
  return std::find(kernel.dtypes, end, *dtype) != end;
}

void set_module_with_any(const plugin::Module* module) { with_any = module; }
const plugin::Module* module_with_any() { return with_any; }

}  // namespace torchplug::aten
