#pragma once
// The operators that kernels of the plugin's serve, by name. Filled once, when the kernels are bound; any
// thread may ask from then on.

#include <string>

#include "base/namespaces.h"

namespace torchplug::aten {

void add_served_operator(const std::string& name);

// Whether the plugin has a kernel that serves the operator, "aten::add.Tensor".
bool has_kernel(const std::string& name);

}  // namespace torchplug::aten
