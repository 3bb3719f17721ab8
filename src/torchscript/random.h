#pragma once
// Whether a call of an operator draws random numbers: such calls stay where they are, one by one and in
// order. Any thread.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <optional>
#include <string>

#include "base/namespaces.h"

namespace torchplug::torchscript {

// `known`: an argument by its name, as far as it is known.
bool draws_random(const c10::OperatorHandle& op,
                  const std::function<std::optional<c10::IValue>(const std::string& name)>& known);
bool draws_random(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

}  // namespace torchplug::torchscript
