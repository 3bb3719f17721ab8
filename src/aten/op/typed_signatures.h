#pragma once
// Which operators TypedKernel serves: those whose schema is one of the commonest C++ signatures.

#include <torch/library.h>

#include <memory>
#include <optional>

#include "aten/op/operator_kernel.h"

namespace torchplug::aten {

// A function for the dispatcher, or nothing if the operator's signature is none of them; `kernel` is then
// still the caller's.
std::optional<torch::CppFunction> make_typed(std::unique_ptr<OperatorKernel>& kernel);

}  // namespace torchplug::aten
