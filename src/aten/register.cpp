#include "aten/register.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "aten/decomposed/tracer.h"
#include "aten/kernel/served_operators.h"
#include "aten/layouts/nested.h"
#include "aten/layouts/quantized.h"
#include "aten/layouts/sparse.h"
#include "aten/op/extension_fallback.h"
#include "aten/op/operator_kernel.h"
#include "aten/op/typed_signatures.h"
#include "aten/own/own_library.h"
#include "aten/own/own_operator.h"
#include "aten/shims/shims.h"
#include "aten/tensor/arguments.h"
#include "base/operator_library.h"

namespace torchplug::aten {
namespace {

using c10::DispatchKey;
using c10::OperatorHandle;
using c10::OperatorName;

// Composite for other devices, but not for this one: carried out whole. What they are composed of refuses
// PrivateUse1, or sees in the dispatcher's way of passing arguments no longer that two are one; or looks for
// a kernel of the device's in a table of PyTorch's own (DispatchStub), or reads memory as the host's.
constexpr std::string_view kCarriedOutWhole[] = {
    "aten::_batch_norm_no_update",
    "aten::_scaled_dot_product_fused_attention_overrideable_backward",
    "aten::_grid_sampler_2d_cpu_fallback",
    "aten::addr_",
    "aten::conj_physical_",
    "aten::convolution",
    "aten::convolution_backward",
    "aten::kaiser_window",
    "aten::kaiser_window.beta",
    "aten::kaiser_window.periodic",
    "aten::ldexp.Tensor",
    "aten::ldexp.out",
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

OperatorLibrary& device_library() { return operator_library("aten", DispatchKey::PrivateUse1); }

// Torchplug's own code for every device, or an extension's.
bool is_taken(const OperatorHandle& handle) {
  return handle.hasKernelForDispatchKey(DispatchKey::PrivateUse1);
}

bool is_extensions(const OperatorHandle& handle) {
  return is_taken(handle) && !device_library().serves(handle);
}

// Whether an extension has a fallback of its own for all operators.
bool fallback_is_extensions = false;

bool is_wanted(const OperatorHandle& handle, bool is_bound) {
  if (is_taken(handle) || takes_storage(handle)) return false;
  // One that has its gradient from what it is composed of would lose it.
  const bool is_whole = is_carried_out_whole(handle.operator_name()) &&
                        !handle.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
  return is_bound || is_whole ||
         (!fallback_is_extensions && handle.hasKernelForDispatchKey(DispatchKey::CPU)) ||
         (module_with_any() != nullptr && is_foreach_operator(handle));
}

// What the plugin's kernels decline, PyTorch composes, if it does so on a backend that has no kernel.
bool is_composed_otherwise(const OperatorHandle& handle) {
  return !handle.hasKernelForDispatchKey(DispatchKey::CPU) &&
         (handle.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) ||
          is_foreach_operator(handle));
}

void compose(const OperatorHandle& handle, torch::jit::Stack& stack) {
  handle.redispatchBoxed(c10::DispatchKeySet(DispatchKey::PrivateUse2), &stack);
}

// The operator that computes the gradient, by its name; nothing if there is none of such a name.
std::optional<OperatorHandle> gradient_of(const OperatorHandle& handle) {
  if (!handle.hasKernelForDispatchKey(DispatchKey::Autograd)) return std::nullopt;
  std::string name = handle.operator_name().name;
  if (name.ends_with("_forward")) name.resize(name.size() - std::string_view("_forward").size());
  return find_operator(name + "_backward");
}

// A kernel whose gradient nobody could compute would fail in the midst of training.
std::string missing_gradient(const OperatorHandle& handle, const Module& module) {
  const auto gradient = gradient_of(handle);
  if (!gradient || is_taken(*gradient) || module.any ||
      gradient->hasComputedKernelForDispatchKey(DispatchKey::CPU)) {
    return "";
  }
  const std::string name = full_name(gradient->operator_name());
  return has_kernel(name) ? ""
                          : "its gradient is " + name +
                                ", for which neither the plugin nor PyTorch's CPU backend has a kernel; bind "
                                "that too";
}

// Whether PyTorch has code for it that calls other operators: of a structured operator its out form.
bool is_composed(const OperatorHandle& handle) {
  return handle.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional) ||
         handle.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd);
}

// The functional and in-place forms that PyTorch composes of an out form.
std::vector<OperatorHandle> forms_composed_of(const OperatorHandle& out) {
  std::vector<OperatorHandle> forms;
  const std::string& name = out.operator_name().name;
  for (const std::string& base : {name, name + "_"}) {
    for (const OperatorHandle& form : overloads_of(base)) {
      if (is_out_form_of(form.schema(), out.schema()) && is_composed(form)) forms.push_back(form);
    }
  }
  return forms;
}

// Operators that PyTorch composes of an out form for which an extension has a kernel.
std::unordered_map<OperatorName, OperatorHandle> composed_of_extensions() {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::unordered_map<OperatorName, OperatorHandle> composed;
  for (const OperatorName& name : dispatcher.getAllOpNamesForDispatchKey(DispatchKey::PrivateUse1)) {
    const auto handle = dispatcher.findSchema(name);
    if (!handle || name.getNamespace() != "aten" || !is_extensions(*handle)) continue;
    for (const OperatorHandle& form : forms_composed_of(*handle)) {
      if (!is_carried_out_whole(form.operator_name())) composed.emplace(form.operator_name(), form);
    }
  }
  return composed;
}

// The plugin's kernels by the operator they serve; the first of two for one operator wins.
using BoundKernels = std::unordered_map<OperatorName, std::unique_ptr<BoundKernel>>;

// Of a kernel for another form, all forms but this one are its.
void report_taken(const plug_kernel& kernel, const std::string& plugin, const Binding& binding) {
  const std::string name = full_name(binding.operator_handle.operator_name());
  const std::string why = "torchplug does " + name + " itself, in one way for every device" +
                          (name == "aten::copy_" ? ", by the runtime's copy and copy_strided" : "");
  if (binding.form == Form::kFunctional || binding.operator_handle == binding.functional_handle) {
    report_unused_kernel(kernel, plugin, why);
  } else {
    TORCH_WARN("The kernel of '", plugin, "' for ", kernel.schema, " is not used for ", name, ": ", why, ".");
  }
}

// Needs the shims that no kernel takes the place of.
BoundKernels bind_kernels(const Module& module) {
  BoundKernels bound;
  for (const plug_kernel& kernel : module.kernels) {
    if (is_own_kernel(module, kernel)) continue;
    for (Binding& binding : bind_kernel(kernel, module.name)) {
      const OperatorName name = binding.operator_handle.operator_name();
      if (is_extensions(binding.operator_handle)) continue;
      if (is_taken(binding.operator_handle)) {
        report_taken(kernel, module.name, binding);
        continue;
      }
      bound.try_emplace(name, std::make_unique<BoundKernel>(std::move(binding), module));
    }
  }
  return bound;
}

// A kernel of the plugin's for an operator that is told a device beside tensors, as aten::_to_copy is. The
// kernel has what stays on one device; what comes from elsewhere or goes there, PyTorch composes.
class KernelOnOneDevice final : public c10::OperatorKernel {
 public:
  explicit KernelOnOneDevice(std::unique_ptr<aten::OperatorKernel> kernel) : kernel_(std::move(kernel)) {}

  void operator()(const OperatorHandle& handle, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    if (is_on_one_device(torch::jit::last(*stack, handle.schema().arguments().size()))) {
      kernel_->run(*stack);
    } else {
      // Of a backend that has no kernel of its own.
      handle.redispatchBoxed(c10::DispatchKeySet(DispatchKey::PrivateUse2), stack);
    }
  }

 private:
  static bool is_on_one_device(Arguments arguments) {
    c10::Device device = device_of_call(arguments).value_or(c10::Device(kDeviceType));
    if (!device.has_index()) device.set_index(current_device());
    bool is_one = true;
    for (const c10::IValue& value : arguments) {
      if (value.isDevice()) is_one = is_one && value.toDevice().type() == kDeviceType;
      for_each_tensor(value, [&](const at::Tensor& tensor) { is_one = is_one && tensor.device() == device; });
    }
    return is_one;
  }

  std::unique_ptr<aten::OperatorKernel> kernel_;
};

bool takes_device_and_tensors(const OperatorHandle& handle) {
  const auto has = [&](std::string_view type) {
    return std::ranges::any_of(handle.schema().arguments(), [&](const c10::Argument& argument) {
      return argument.type()->str().starts_with(type);
    });
  };
  return has("Device") && has("Tensor");
}

torch::CppFunction make_function(std::unique_ptr<aten::OperatorKernel> kernel) {
  if (kernel->bound() != nullptr && takes_device_and_tensors(kernel->handle()))
    return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<KernelOnOneDevice>(std::move(kernel)));
  if (full_name(kernel->handle().operator_name()) == kFusedAttentionBackward) {
    kernel->set_composed(&compose_attention_backward);
    return make_attention_backward(std::move(kernel));
  }
  if (full_name(kernel->handle().operator_name()) == "aten::convolution")
    return make_traceable_convolution(std::move(kernel));
  if (auto typed = make_typed(kernel)) return std::move(*typed);
  return torch::CppFunction::makeFromBoxedFunctor(std::move(kernel));
}

void register_kernels(BoundKernels bound, OperatorLibrary& library) {
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto composed = composed_of_extensions();
  for (const OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.getNamespace() != "aten" || composed.contains(name)) continue;
    const auto handle = dispatcher.findSchema(name);
    const auto kernel = bound.find(name);
    if (!handle || !is_wanted(*handle, kernel != bound.end())) continue;
    auto functor = std::make_unique<OperatorKernel>(
        *handle, kernel == bound.end() ? nullptr : std::move(kernel->second));
    if (full_name(name) == "aten::native_dropout") functor->set_composed(&compose_dropout);
    compose_backward(*functor);
    if (is_composed_otherwise(*handle))
      functor->set_composed([handle](torch::jit::Stack& stack) { compose(*handle, stack); });
    if (full_name(name) == kFusedAttention && functor->bound() != nullptr) {
      functor->set_composed(&compose_attention);
      offer_attention_to(*functor);
    }
    library.impl(name_in_library(name).c_str(), make_function(std::move(functor)));
  }
}

void drop_without_gradient(BoundKernels& bound, const Module& module) {
  std::set<const plug_kernel*> reported;
  for (auto named = bound.begin(); named != bound.end();) {
    const auto handle = c10::Dispatcher::singleton().findSchema(named->first);
    const std::string why = handle ? missing_gradient(*handle, module) : "";
    if (why.empty()) {
      ++named;
      continue;
    }
    const plug_kernel& kernel = named->second->kernel();
    if (reported.insert(&kernel).second) report_unused_kernel(kernel, module.name, why);
    remove_served_operator(full_name(named->first));
    named = bound.erase(named);
  }
}

// For operators of other libraries, and of aten where PyTorch has no CPU kernel; and for the first operator
// of all, at::empty as a rule, which loads the plugin and with it registers the others.
void run_other(const OperatorHandle& handle, torch::jit::Stack* stack) {
  if (!are_devices_known()) check_device(current_device());
  if (is_taken(handle)) return handle.redispatchBoxed(c10::DispatchKeySet(DispatchKey::PrivateUse1), stack);
  if (module_with_any() != nullptr || handle.hasComputedKernelForDispatchKey(DispatchKey::CPU))
    return late_kernel(handle, DispatchKey::CPU).run(*stack);
  if (!run_extension_fallback(handle, *stack)) refuse_without_kernel(handle);
}

}  // namespace

void register_first_operators() {
  fallback_is_extensions = !operator_library("_", DispatchKey::PrivateUse1)
                                .fallback(torch::CppFunction::makeFromBoxedFunction<&run_other>(),
                                          "give the second one to torchplug::set_fallback");
  if (fallback_is_extensions) add_factories(device_library());
}

void register_operators(const Module& module) {
  OperatorLibrary& library = device_library();
  set_module_with_any(module.any ? &module : nullptr);
  set_decomposes((module.flags & PLUG_DECOMPOSE) != 0);
  add_factories(library);
  add_views(library);
  add_nested_views(library);
  add_storage_operators(library);
  add_copies(library);
  auto bound = bind_kernels(module);
  for (const auto& [name, kernel] : bound) add_served_operator(full_name(name), kernel->kernel());
  if (module.runtime.has<&plug_runtime::mem_fill>()) add_fills(library);
  add_convolution(library);
  add_dropout(library);
  add_recurrent_cells(library);
  add_histogram(library);
  add_shared_batch_norm(library);
  add_backwards(library);
  drop_without_gradient(bound, module);
  register_kernels(std::move(bound), library);
  add_own_device_kernels(module);
  register_sparse_operators();
  register_nested_operators();
  register_quantized_operators();
}

void give_way_to_extensions() {
  for (const auto& [name, form] : composed_of_extensions()) device_library().withdraw(form);
}

}  // namespace torchplug::aten
