#pragma once
// PyTorch's arguments as those of a graph's nodes.

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <optional>

#include "base/namespaces.h"
#include "graph/argument.h"
#include "runtime/device.h"

namespace torchplug::torchscript {

// What is no tensor, for a parameter of that type (c10::Argument::real_type). Nothing if plug.h has no form
// for it. `device`: that of the graph.
std::optional<graph::Argument> argument_of(const c10::IValue& value, const c10::TypePtr& type,
                                           DeviceIndex device);

// A number that stands in the place of a tensor.
std::optional<graph::Argument> argument_of_number(const c10::Scalar& number);

}  // namespace torchplug::torchscript
