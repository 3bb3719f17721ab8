#pragma once
// The operators that kernels of the plugin's serve, by name. Filled once, when the kernels are bound; any
// thread may ask from then on.

#include <c10/core/ScalarType.h>

#include <string>

#include "plugin/module.h"
#include "runtime/device.h"

namespace torchplug::aten {

void add_served_operator(const std::string& name, const plug_kernel& kernel);
void remove_served_operator(const std::string& name);

// Whether the plugin has a kernel that serves the operator, "aten::add.Tensor".
bool has_kernel(const std::string& name);
// That kernel, or null.
const plug_kernel* kernel_of(const std::string& name);

// Whether a kernel takes tensors of the dtype: by its own list, or by the device's.
bool takes_dtype(const plug_kernel& kernel, DeviceIndex device, at::ScalarType type);

// The plugin, if it has a kernel for any operator; else null. Set before operators are registered.
void set_module_with_any(const plugin::Module* module);
const plugin::Module* module_with_any();

}  // namespace torchplug::aten
