#pragma once
// Tensors that are more than one piece of memory with strides: sparse ones, a shell around tensors of
// indices and values, and nested ones. Their operators are the CPU's, on CPU copies of the whole.

#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKey.h>

#include <span>
#include <string_view>

#include "runtime/device.h"

namespace torchplug::aten {

bool is_plain(const at::Tensor& tensor);

// A CPU tensor of any kind, moved to the device as a whole, with its strides or those of its parts.
at::Tensor move_to_device(const at::Tensor& host, DeviceIndex device);
// A tensor of any kind, moved from the CPU to a device or back; what it is made of has no gaps then.
at::Tensor move_densely(const at::Tensor& tensor, c10::Device device);

// Gives the device's tensors under `key` an operator for each that the CPU's have under `cpu_key`: PyTorch's
// own code for those `on_shell`, which leave the parts where they are; for the others the CPU's, on copies.
void register_whole_copies(c10::DispatchKey key, c10::DispatchKey cpu_key,
                           std::span<const std::string_view> on_shell);

}  // namespace torchplug::aten
