#pragma once
// The function of an extension's that is asked for every call without a kernel of the plugin's, before
// PyTorch's CPU kernel is. Any thread may set it, any may be in it; one that was replaced is kept for those
// who still are.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>

#include "base/namespaces.h"

namespace torchplug::aten {

// Takes the arguments from the stack and leaves the results there; or leaves it as it is and returns false.
using ExtensionFallback = std::function<bool(const c10::OperatorHandle& op, torch::jit::Stack* stack)>;

// An empty one: nobody is asked.
void set_extension_fallback(ExtensionFallback fallback);
bool has_extension_fallback() noexcept;
// False if there is none, or it does not want the call.
bool run_extension_fallback(const c10::OperatorHandle& op, torch::jit::Stack& stack);

}  // namespace torchplug::aten
