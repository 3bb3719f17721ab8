#include "aten/register.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "aten/kernel/served_operators.h"
#include "aten/layouts/nested.h"
#include "aten/layouts/quantized.h"
#include "aten/layouts/sparse.h"
#include "aten/op/operator_kernel.h"
#include "aten/op/typed_signatures.h"
#include "aten/shims/shims.h"
#include "base/operator_library.h"

namespace torchplug::aten {
namespace {

using c10::DispatchKey;
using c10::OperatorHandle;
using c10::OperatorName;

// Composite for other devices, but what they are composed of refuses PrivateUse1, or sees in the
// dispatcher's way of passing arguments no longer that two are one: carried out whole.
constexpr std::string_view kCarriedOutWhole[] = {
    "aten::addr_",       "aten::conj_physical_", "aten::convolution", "aten::convolution_backward",
    "aten::mode.values",
};

std::string name_in_library(const OperatorName& name) {
  const std::string full = full_name(name);
  return full.substr(full.find("::") + 2);
}

bool takes_storage(const OperatorHandle& handle) {
  const auto is_storage = [](const c10::Argument& argument) {
    return argument.type()->kind() == c10::TypeKind::StorageType;
  };
  return std::ranges::any_of(handle.schema().arguments(), is_storage);
}

bool is_carried_out_whole(const OperatorName& name) {
  return std::find(std::begin(kCarriedOutWhole), std::end(kCarriedOutWhole), full_name(name)) !=
         std::end(kCarriedOutWhole);
}

bool is_wanted(const OperatorHandle& handle, bool is_bound) {
  if (handle.hasKernelForDispatchKey(DispatchKey::PrivateUse1) || takes_storage(handle)) return false;
  return is_bound || handle.hasKernelForDispatchKey(DispatchKey::CPU) ||
         is_carried_out_whole(handle.operator_name());
}

// The plugin's kernels by the operator they serve; the first of two for one operator wins.
using BoundKernels = std::unordered_map<OperatorName, std::unique_ptr<BoundKernel>>;

BoundKernels bind_kernels(const Module& module) {
  BoundKernels bound;
  for (const plug_kernel& kernel : module.kernels) {
    for (Binding& binding : bind_kernel(kernel, module.name)) {
      const OperatorName name = binding.operator_handle.operator_name();
      bound.try_emplace(name, std::make_unique<BoundKernel>(std::move(binding), module));
    }
  }
  return bound;
}

void register_kernels(BoundKernels bound, torch::Library& library) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.getNamespace() != "aten") continue;
    const auto handle = dispatcher.findSchema(name);
    const auto kernel = bound.find(name);
    if (!handle || !is_wanted(*handle, kernel != bound.end())) continue;
    auto functor = std::make_unique<OperatorKernel>(
        *handle, kernel == bound.end() ? nullptr : std::move(kernel->second));
    auto typed = make_typed(functor);
    library.impl(name_in_library(name).c_str(),
                 typed ? std::move(*typed) : torch::CppFunction::makeFromBoxedFunctor(std::move(functor)));
  }
}

torch::Library& device_library() { return operator_library("aten", DispatchKey::PrivateUse1); }

// For operators of other libraries, and of aten where PyTorch has no CPU kernel.
void run_other(const OperatorHandle& handle, torch::jit::Stack* stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(handle.hasComputedKernelForDispatchKey(DispatchKey::CPU),
                              handle.operator_name(), " cannot run on device '", active_module().name,
                              "': neither its plugin nor PyTorch's CPU has a kernel for it.");
  late_kernel(handle, DispatchKey::CPU).run(*stack);
}

}  // namespace

void register_first_operators() {
  add_factories(device_library());
  operator_library("_", DispatchKey::PrivateUse1)
      .fallback(torch::CppFunction::makeFromBoxedFunction<&run_other>());
}

void register_operators(const Module& module) {
  torch::Library& library = device_library();
  auto bound = bind_kernels(module);
  for (const auto& [name, kernel] : bound) add_served_operator(full_name(name));
  add_views(library);
  add_nested_views(library);
  add_storage_operators(library);
  add_copies(library);
  if (module.runtime.mem_fill != nullptr && !has_kernel("aten::zero_")) add_fills(library);
  if (!has_kernel("aten::_convolution")) add_convolution(library);
  if (!has_kernel("aten::native_dropout")) add_dropout(library);
  if (!has_kernel("aten::_thnn_fused_lstm_cell")) add_lstm_cell(library);
  if (!has_kernel("aten::_thnn_fused_gru_cell")) add_gru_cell(library);
  if (!has_kernel("aten::histc")) add_histogram(library);
  add_shared_batch_norm(library);
  register_kernels(std::move(bound), library);
  register_sparse_operators();
  register_nested_operators();
  register_quantized_operators();
}

}  // namespace torchplug::aten
