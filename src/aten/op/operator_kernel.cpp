#include "aten/op/operator_kernel.h"

#include <c10/util/Exception.h>

#include <utility>

#include "aten/kernel/served_operators.h"
#include "aten/op/extension_fallback.h"
#include "aten/plan/by_operator.h"
#include "aten/plan/shape.h"
#include "aten/tensor/arguments.h"
#include "aten/tensor/copy_on_write.h"
#include "base/immortal.h"
#include "memory/address_index.h"
#include "memory/device_allocator.h"

namespace torchplug::aten {
namespace {

// Whether the host can reach the memory of all tensors of a call.
bool is_in_view(Arguments arguments, DeviceIndex device) {
  if (!plugin_has<&plug_runtime::host_view>(device)) return false;
  if (C10_LIKELY(!any_block_lacks_host_view())) return true;
  bool all = true;
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (is_on_device(tensor)) all = all && is_in_host_view(tensor);
    });
  }
  return all;
}

// Without a tensor of the device, its generator is what has brought the call here.
void refuse_generator(Arguments arguments) {
  for (const c10::IValue& value : arguments) {
    TORCH_CHECK(!value.isGenerator(), "Expected a 'cpu' device type for generator but found '",
                device_type_name(), "'");
  }
}

}  // namespace

OperatorKernel::OperatorKernel(const c10::OperatorHandle& handle, std::unique_ptr<BoundKernel> bound,
                               c10::DispatchKey host_key)
    : facts_(handle), bound_(std::move(bound)), host_(facts_, host_key), account_(facts_.name) {
  const Module* module = host_key == c10::DispatchKey::CPU ? module_with_any() : nullptr;
  if (module != nullptr && module->any && !facts_.is_view && has_plug_form(handle.schema()))
    any_ = std::make_unique<BoundKernel>(bind_any(*module->any, facts_), *module);
  for (BoundKernel* kernel : {bound_.get(), any_.get()}) {
    if (kernel != nullptr) kernel->explain_to(account_, /*is_second=*/kernel != this->bound());
  }
  if (decomposes() && host_key == c10::DispatchKey::CPU)
    decomposition_ = std::make_unique<Decomposition>(facts_, account_);
}

void OperatorKernel::run(torch::jit::Stack& stack) {
  if (facts_.is_out_form && C10_UNLIKELY(is_shaping())) {
    // Asked by shape_structured: its outputs are its last arguments.
    const auto first = stack.end() - static_cast<std::ptrdiff_t>(facts_.argument_count);
    stack.erase(first, stack.end() - static_cast<std::ptrdiff_t>(facts_.return_count));
    return;
  }
  const Arguments arguments = torch::jit::last(stack, facts_.argument_count);
  run(stack, PlanKey(arguments, facts_.numbers, facts_.is_number));
}

void OperatorKernel::run(torch::jit::Stack& stack, const PlanKey& key, const KnownCall& known) {
  DeviceIndex device = key.device();
  // Lists may span devices: PyTorch does their tensors one by one.
  if (C10_UNLIKELY(device < 0 && facts_.is_foreach && composed_ != nullptr)) return composed_(stack);
  // A number on the host may be read by an operator of the device, not written.
  if (device < 0 || (facts_.writes_any && key.has_host_scalar()))
    device = device_of(torch::jit::last(stack, facts_.argument_count));
  const Stream stream = Stream::current(device);
  if (facts_.writes_any) own_written(torch::jit::last(stack, facts_.argument_count));
  if (facts_.is_view) {
    LoanKind kind = LoanKind::kMetadata;
    host_.run(stack, key, stream, kind);
    return;
  }
  const Reason reason = ask_plugin_kernels(stack, key, stream, known);
  if (C10_LIKELY(reason == Reason::kNone)) return;
  if (C10_UNLIKELY(has_extension_fallback()) && run_extension_fallback(facts_.handle, stack)) return;
  if (composed_ != nullptr) return composed_(stack);
  if (C10_UNLIKELY(decomposition_ != nullptr) && decomposition_->run(stack, key, stream)) {
    // Its time is that of the operators it consists of, which count it.
    account_.count(Way::kDecomposed, reason, 0, 0);
    return;
  }
  run_on_host(stack, key, stream, reason, known.host_plan);
}

Reason OperatorKernel::ask_plugin_kernels(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream,
                                          const KnownCall& known) {
  Reason reason = known.refusal == Reason::kNone ? Reason::kNoKernel : known.refusal;
  for (BoundKernel* kernel : {bound_.get(), any_.get()}) {
    const bool is_first = kernel == bound();
    if (kernel == nullptr || (is_first && known.refusal != Reason::kNone)) continue;
    const LedgerTimer timer;
    const Reason before = is_first ? Reason::kNone : reason;
    reason = kernel->run(stack, key, stream, is_first ? known.bound_plan : nullptr);
    if (C10_LIKELY(reason == Reason::kNone)) {
      account_.count(kernel->way(), before, 0, timer.nanoseconds());
      return reason;
    }
  }
  return reason;
}

bool OperatorKernel::takes(Arguments arguments) {
  const PlanKey key(arguments, facts_.numbers, facts_.is_number);
  const Stream stream = Stream::current(key.device() < 0 ? device_of(arguments) : key.device());
  return bound_ != nullptr && bound_->takes(arguments, key, stream);
}

bool OperatorKernel::run_by_plugin(torch::jit::Stack& stack) {
  if (bound() == nullptr) return false;
  const Arguments arguments = torch::jit::last(stack, facts_.argument_count);
  const PlanKey key(arguments, facts_.numbers, facts_.is_number);
  const Stream stream = Stream::current(key.device() < 0 ? device_of(arguments) : key.device());
  return ask_plugin_kernels(stack, key, stream, {}) == Reason::kNone;
}

void OperatorKernel::run_without_plugin(torch::jit::Stack& stack, Reason reason) {
  const Arguments arguments = torch::jit::last(stack, facts_.argument_count);
  const PlanKey key(arguments, facts_.numbers, facts_.is_number);
  const Stream stream = Stream::current(key.device() < 0 ? device_of(arguments) : key.device());
  run_on_host(stack, key, stream, reason, nullptr);
}

void OperatorKernel::own_written(Arguments arguments) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!facts_.writes[i]) continue;
    for_each_tensor(arguments[i], [this](const at::Tensor& tensor) {
      if (!is_on_device(tensor)) return;
      own_memory(tensor);
      if (facts_.bumps_versions && !tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
    });
  }
}

bool OperatorKernel::borrows_always(DeviceIndex device) {
  return plugin_has<&plug_runtime::host_view>(device) && !any_block_lacks_host_view() &&
         is_fallback_allowed() && !has_extension_fallback();
}

void OperatorKernel::run_on_host(torch::jit::Stack& stack, const PlanKey& key, const Stream& stream,
                                 Reason reason, const HostPlan* known) {
  // An object may keep what it is made of for longer than memory can be borrowed.
  const bool can_borrow =
      !facts_.makes_object && is_in_view(torch::jit::last(stack, facts_.argument_count), stream.device());
  const bool can_map = !facts_.makes_object && plugin_has<&plug_runtime::host_map>(stream.device());
  notice_.give(account_, can_borrow || can_map ? Way::kBorrow : Way::kStage, reason);
  const LedgerTimer timer;
  LoanKind kind = can_borrow ? LoanKind::kBorrow : LoanKind::kStage;
  const uint64_t bytes = host_.run(stack, key, stream, kind, known);
  account_.count(kind == LoanKind::kBorrow ? Way::kBorrow : Way::kStage, reason, bytes, timer.nanoseconds());
}

DeviceIndex OperatorKernel::device_of(Arguments arguments) const {
  DeviceIndex device = -1;
  at::Tensor host_tensor;
  bool are_indices = true;  // the host's tensors
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& value = arguments[i];
    if (value.isDevice() && value.toDevice().type() == kDeviceType && device < 0) {
      device = value.toDevice().has_index() ? value.toDevice().index() : current_device();
    }
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (!is_on_device(tensor)) {
        if (i == 0 || facts_.writes[i]) are_indices = false;
        if (tensor.dim() > 0 || facts_.writes[i]) host_tensor = tensor;
        return;
      }
      if (device >= 0 && device != tensor.device().index()) refuse_mixture(device, tensor);
      device = tensor.device().index();
    });
  }
  if (device < 0 && host_tensor.defined()) refuse_generator(arguments);
  if (device < 0) device = current_device();
  const bool is_allowed = facts_.takes_host_indices && are_indices;
  if (host_tensor.defined() && !is_allowed) refuse_mixture(device, host_tensor);
  return device;
}

void OperatorKernel::refuse_mixture(DeviceIndex device, const at::Tensor& tensor) const {
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ",
              c10::Device(kDeviceType, device), " and ", tensor.device(), "! (", facts_.name, ")");
}

void refuse_without_kernel(const c10::OperatorHandle& handle) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, handle.operator_name(), " cannot run on device '", device_type_name(),
                              "': neither its plugin nor PyTorch's CPU backend has a kernel for it.");
}

OperatorKernel& late_kernel(const c10::OperatorHandle& handle, c10::DispatchKey host_key) {
  static auto& of_plain = *immortal<ByOperator<OperatorKernel>>();
  static auto& of_quantized = *immortal<ByOperator<OperatorKernel>>();
  auto& kernels = host_key == c10::DispatchKey::QuantizedCPU ? of_quantized : of_plain;
  return kernels.find(handle, [&] {
    auto kernel = std::make_unique<OperatorKernel>(handle, nullptr, host_key);
    if (host_key == c10::DispatchKey::CPU && !handle.hasComputedKernelForDispatchKey(host_key))
      kernel->set_composed([handle](torch::jit::Stack& /*stack*/) { refuse_without_kernel(handle); });
    return kernel;
  });
}

}  // namespace torchplug::aten
