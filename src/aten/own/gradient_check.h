#pragma once
// Whether the calls in the text of a gradient can be made, as far as that is known when a plugin is loaded:
// those of operators that are there. One of another library may come later.

#include <ATen/core/function_schema.h>

#include <functional>

#include "aten/own/gradient_text.h"

namespace torchplug::aten {

// The schema of an operator, or null if there is none.
using FindOperator = std::function<const c10::FunctionSchema*(const c10::OperatorName& name)>;

// Throws a sentence with the place in the text for an operator that is not there and cannot come later (one
// of PyTorch's, or in the namespace of `schema`), and for a call with arguments, or with results taken from
// it, that the operator does not have. `schema`: of the operator whose gradient it is.
void check_gradient_calls(const GradientText& text, const c10::FunctionSchema& schema,
                          const FindOperator& find);

}  // namespace torchplug::aten
