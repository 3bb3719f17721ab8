#pragma once
// The operators that a plugin defines, in the namespace of its name: for tracers, autograd, CPU tensors and,
// once the plugin is the device of the process, device tensors. Defined once per plugin and for ever.

#include <string>
#include <vector>

#include "plugin/module.h"

namespace torchplug::aten {

struct OwnOperatorEntry {
  std::string name;
  std::string schema;
  bool takes_cpu = false;
  bool has_gradient = false;
};

// Defines the operators of the plugin's own, with what serves CPU tensors; does nothing the second time.
// Throws a sentence that names plugin and operator for a namespace that is taken, a schema that PyTorch
// refuses, a text that cannot be read or a kernel that no operator has use for; all but what PyTorch refuses
// is found before any operator is defined.
void define_own_operators(const Module& module);
// Lets their kernels have tensors of the device, which is the plugin's; after the above.
void add_own_device_kernels(const Module& module);

// What has been defined, in the order of the plugin's list.
std::vector<OwnOperatorEntry> own_operators(const Module& module);

// Whether "acme::noise" is an operator that some plugin has defined, of which there may be calls without a
// tensor.
bool may_own_lack_tensors(const std::string& name);

}  // namespace torchplug::aten
