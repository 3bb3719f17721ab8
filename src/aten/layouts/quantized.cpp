#include "aten/layouts/quantized.h"

#include <ATen/ops/_to_copy_native.h>
#include <ATen/ops/clone.h>
#include <torch/library.h>

#include <algorithm>
#include <string_view>

#include "aten/fallback/on_shell.h"
#include "aten/op/operator_kernel.h"
#include "aten/plan/operator_facts.h"
#include "aten/tensor/quantizer.h"
#include "base/operator_library.h"

namespace torchplug::aten {
namespace {

using c10::DispatchKey;

// Operators that make a tensor on whatever device they are told, or read its scheme.
constexpr std::string_view kQuantizedOnShell[] = {
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

void run_on_host(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(handle.hasComputedKernelForDispatchKey(DispatchKey::QuantizedCPU),
                              handle.operator_name(), " cannot run on quantized tensors of device '",
                              device_type_name(),
                              "': PyTorch's CPU backend has no kernel for it. Call dequantize() first.");
  late_kernel(handle, DispatchKey::QuantizedCPU).run(*stack);
}

}  // namespace

void register_quantized_operators() {
  constexpr DispatchKey kKey = DispatchKey::QuantizedPrivateUse1;
  OperatorLibrary& library = operator_library("aten", kKey);
  library.impl("copy_", TORCH_FN(copy_));
  library.impl("_to_copy", TORCH_FN(to_copy));
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNamesForDispatchKey(DispatchKey::QuantizedCPU)) {
    if (name.getNamespace() != "aten") continue;
    const std::string full = full_name(name);
    const bool on_shell = std::find(std::begin(kQuantizedOnShell), std::end(kQuantizedOnShell), full) !=
                          std::end(kQuantizedOnShell);
    library.impl(full.substr(full.find("::") + 2).c_str(),
                 on_shell ? run_on_shell(DispatchKey::QuantizedCPU)
                          : torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
  }
  operator_library("_", kKey).fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
}

}  // namespace torchplug::aten
