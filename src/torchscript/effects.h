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

// An argument by its name, as far as it is known.
using KnownArgument = std::function<std::optional<c10::IValue>(const std::string& name)>;
KnownArgument arguments_of(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

// Whether it draws random numbers.
bool draws_random(const c10::OperatorHandle& op, const KnownArgument& known);
// Whether it writes a tensor that it is given, as a norm that trains does its statistics.
bool writes_unsaid(const c10::OperatorHandle& op, const KnownArgument& known);

// Whether it may give what it is given, or a view of it, and its schema does not say so, as dropout does
// where it does not train.
bool may_alias_unsaid(const c10::OperatorHandle& op);

}  // namespace torchplug::torchscript
