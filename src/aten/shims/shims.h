#pragma once
// The operators that are written once, here, and never fall back: they make tensors, look at them,
// resize them and copy them; and the few whose CPU kernel would not do, each unless the plugin has a kernel
// for it. Each function adds its operators to the library of the device's key.

#include <memory>
#include <string>

#include "aten/kernel/served_operators.h"
#include "aten/op/operator_kernel.h"
#include "base/operator_library.h"

namespace torchplug::aten {

// For every device.
void add_factories(OperatorLibrary& library);
void add_views(OperatorLibrary& library);
void add_storage_operators(OperatorLibrary& library);
void add_copies(OperatorLibrary& library);

// Where the plugin has no kernel.
void add_fills(OperatorLibrary& library);
void add_convolution(OperatorLibrary& library);
void add_dropout(OperatorLibrary& library);
void add_recurrent_cells(OperatorLibrary& library);
void add_histogram(OperatorLibrary& library);
void add_shared_batch_norm(OperatorLibrary& library);

// How a call of aten::native_dropout is composed of other operators.
void compose_dropout(torch::jit::Stack& stack);

// What the dispatcher calls for aten::convolution.
torch::CppFunction make_traceable_convolution(std::unique_ptr<OperatorKernel> kernel);

template <class Function>
void add_unless_served(OperatorLibrary& library, const char* name, Function function) {
  if (!has_kernel(std::string("aten::") + name)) library.impl(name, function);
}

}  // namespace torchplug::aten
