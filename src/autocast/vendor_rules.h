#pragma once
// What the plugin says autocast does to operators on its device (plug_autocast), in place of PyTorch's lists.

#include <c10/core/DispatchKey.h>

#include <string>

#include "plugin/module.h"

namespace torchplug::autocast {

inline constexpr c10::DispatchKey kAutocastKey = c10::DispatchKey::AutocastPrivateUse1;

// Whether the plugin has a rule of its own for the operator: "aten::softmax.int".
bool has_vendor_rule(const Module& module, const std::string& name);

// Registers the plugin's rules, and warns of those for operators that PyTorch does not have.
void register_vendor_rules(const Module& module);

}  // namespace torchplug::autocast
