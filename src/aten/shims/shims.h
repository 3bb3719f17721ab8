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
void add_backwards(OperatorLibrary& library);

// A gradient that no CPU kernel computes, for a plugin's kernel to decline: has what it does not take
// composed. Nothing for another operator.
void compose_backward(OperatorKernel& kernel);

// How a call of aten::native_dropout is composed of other operators.
void compose_dropout(torch::jit::Stack& stack);

// How a call of the fused attention that a plugin may have a kernel for is composed, and its gradient. What
// was composed forward is composed backward, whatever kernels there are.
inline constexpr const char* kFusedAttention = "aten::_scaled_dot_product_fused_attention_overrideable";
inline constexpr const char* kFusedAttentionBackward =
    "aten::_scaled_dot_product_fused_attention_overrideable_backward";
void compose_attention(torch::jit::Stack& stack);
void compose_attention_backward(torch::jit::Stack& stack);
bool is_composed_attention(Arguments arguments);
// What the dispatcher calls for the gradient.
torch::CppFunction make_attention_backward(std::unique_ptr<OperatorKernel> kernel);
// The kernel that a call of attention is offered to, before it is decided how to carry it out; it lives until
// the process ends.
void offer_attention_to(OperatorKernel& kernel);

// What the dispatcher calls for aten::convolution.
torch::CppFunction make_traceable_convolution(std::unique_ptr<OperatorKernel> kernel);

template <class Function>
void add_unless_served(OperatorLibrary& library, const char* name, Function function) {
  if (!has_kernel(std::string("aten::") + name)) library.impl(name, function);
}

// What the plugin's kernels do not take goes to `composed`.
void set_composed(OperatorKernel& kernel, c10::KernelFunction composed);

// The operator for the dispatcher: the plugin's kernel for any operator, and `composed` for what that does
// not take.
torch::CppFunction make_behind_any(const c10::OperatorHandle& handle, c10::KernelFunction composed);

// The same behind the plugin's kernel for any operator, if it has one. Nothing for an operator that this
// PyTorch does not have.
template <class Function>
void add_behind_any(OperatorLibrary& library, const char* name, Function function) {
  const std::string full = std::string("aten::") + name;
  const auto handle = find_operator(full);
  if (has_kernel(full) || !handle) return;
  if (module_with_any() == nullptr) {
    library.impl(name, function);
  } else {
    library.impl(name, make_behind_any(*handle, c10::KernelFunction::makeFromUnboxedFunction(function)));
  }
}

}  // namespace torchplug::aten
