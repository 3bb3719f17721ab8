#include "aten/quantized.h"

#include <ATen/ops/_to_copy_native.h>
#include <ATen/ops/clone.h>
#include <ATen/quantized/QTensorImpl.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>
#include <string_view>

#include "aten/arguments.h"
#include "aten/operator_facts.h"
#include "aten/operator_kernel.h"
#include "aten/transfer.h"
#include "operator_library.h"

namespace torchplug {
namespace {

using c10::DispatchKey;

// Operators that make a tensor on whatever device they are told, or read its scheme.
constexpr std::string_view kOnShell[] = {
    "aten::_empty_affine_quantized",
    "aten::_empty_per_channel_affine_quantized",
    "aten::empty.memory_format",
    "aten::empty_like",
    "aten::empty_quantized",
    "aten::empty_strided",
    "aten::q_per_channel_axis",
    "aten::q_per_channel_scales",
    "aten::q_per_channel_zero_points",
    "aten::q_scale",
    "aten::q_zero_point",
    "aten::qscheme",
    "aten::set_.source_Storage_storage_offset",
};

// Several elements in a byte.
bool is_packed(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kQUInt4x2 || tensor.scalar_type() == at::kQUInt2x4;
}

// The integers of a quantized tensor, as a plain tensor on the same memory.
at::Tensor integers_of(const at::Tensor& tensor) {
  const auto key = is_on_device(tensor) ? DispatchKey::PrivateUse1 : DispatchKey::CPU;
  at::Tensor integers = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(tensor.storage()), c10::DispatchKeySet(key),
      c10::scalarTypeToTypeMeta(c10::toUnderlying(tensor.scalar_type())));
  c10::TensorImpl& view = *integers.unsafeGetTensorImpl();
  if (is_packed(tensor)) {
    TORCH_CHECK(tensor.is_contiguous() && tensor.storage_offset() == 0, "A tensor of dtype ",
                tensor.scalar_type(), " can only be copied whole and contiguous. Call contiguous() first.");
    view.set_sizes_contiguous({static_cast<int64_t>(tensor.storage().nbytes())});
  } else {
    view.set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  }
  return integers;
}

at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  TORCH_CHECK(
      self.is_quantized(),
      "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to "
      "get a float Tensor from a quantized Tensor");
  if (!source.is_quantized()) {
    // PyTorch's CPU knows how to quantize in a copy.
    at::Tensor host = self.cpu();
    host.copy_(source.cpu());
    return copy_(self, host, non_blocking);
  }
  TORCH_CHECK(self.qscheme() == source.qscheme(), "Quantized Copy only works with same qscheme");
  TORCH_CHECK(self.scalar_type() == source.scalar_type(),
              "Quantized Copy only works with the same dtype, not ", source.scalar_type(), " to ",
              self.scalar_type());
  set_quantizer(self, move_quantizer(quantizer_of(source), self.device()));
  integers_of(self).copy_(integers_of(source), non_blocking);
  return self;
}

// PyTorch's own loses the device on the way if the tensor has gaps.
at::Tensor to_copy(const at::Tensor& self, std::optional<at::ScalarType> dtype,
                   std::optional<at::Layout> layout, std::optional<at::Device> device,
                   std::optional<bool> pin_memory, bool non_blocking,
                   std::optional<at::MemoryFormat> memory_format) {
  const at::Tensor dense = self.is_non_overlapping_and_dense() ? self : at::clone(self);
  return at::native::_to_copy(dense, dtype, layout, device, pin_memory, non_blocking, memory_format);
}

void run_on_shell(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  const Arguments arguments = torch::jit::last(*stack, handle.schema().arguments().size());
  const c10::OptionalDeviceGuard guard(device_of_call(arguments));
  handle.redispatchBoxed(c10::DispatchKeySet(DispatchKey::QuantizedCPU), stack);
}

void run_on_host(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(handle.hasComputedKernelForDispatchKey(DispatchKey::QuantizedCPU),
                              handle.operator_name(), " cannot run on quantized tensors of device '",
                              active_module().name,
                              "': PyTorch's CPU has no kernel for it. Call dequantize() first.");
  late_kernel(handle, DispatchKey::QuantizedCPU).run(*stack);
}

}  // namespace

at::QuantizerPtr quantizer_of(const at::Tensor& tensor) { return at::get_qtensorimpl(tensor)->quantizer(); }

void set_quantizer(const at::Tensor& tensor, at::QuantizerPtr quantizer) {
  at::get_qtensorimpl(tensor)->set_quantizer_(std::move(quantizer));
}

at::QuantizerPtr move_quantizer(const at::QuantizerPtr& quantizer, c10::Device device) {
  // Any other is a few numbers, or, of a tensor made empty, nothing yet.
  const auto* channels = dynamic_cast<const at::PerChannelAffineQuantizer*>(quantizer.get());
  if (channels == nullptr) return quantizer;
  const auto copy = [&](const at::Tensor& numbers) {
    return numbers.to(device, numbers.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  };
  return at::make_per_channel_affine_quantizer(copy(channels->scales()), copy(channels->zero_points()),
                                               channels->axis(), channels->scalar_type());
}

at::Tensor make_quantized(c10::Storage storage, caffe2::TypeMeta dtype, at::QuantizerPtr quantizer) {
  const auto key =
      storage.device_type() == kDeviceType ? DispatchKey::QuantizedPrivateUse1 : DispatchKey::QuantizedCPU;
  return at::detail::make_tensor<at::QTensorImpl>(std::move(storage), c10::DispatchKeySet(key), dtype,
                                                  std::move(quantizer));
}

at::Tensor copy_quantized_to_device(const at::Tensor& host, const Stream& stream) {
  const at::Tensor integers = copy_to_device(integers_of(host), stream);
  at::Tensor copy =
      make_quantized(integers.storage(), host.dtype(), move_quantizer(quantizer_of(host), integers.device()));
  copy.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides());
  return copy;
}

void register_quantized_operators() {
  constexpr DispatchKey kKey = DispatchKey::QuantizedPrivateUse1;
  torch::Library& library = operator_library("aten", kKey);
  library.impl("copy_", TORCH_FN(copy_));
  library.impl("_to_copy", TORCH_FN(to_copy));
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNamesForDispatchKey(DispatchKey::QuantizedCPU)) {
    if (name.getNamespace() != "aten") continue;
    const std::string full = full_name(name);
    const bool on_shell = std::find(std::begin(kOnShell), std::end(kOnShell), full) != std::end(kOnShell);
    library.impl(full.substr(full.find("::") + 2).c_str(),
                 on_shell ? torch::CppFunction::makeFromBoxedFunction<&run_on_shell>()
                          : torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
  }
  operator_library("_", kKey).fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
}

}  // namespace torchplug
