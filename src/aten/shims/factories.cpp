#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>
#include <c10/core/DeviceGuard.h>

#include "aten/shims/shims.h"
#include "memory/device_allocator.h"

namespace torchplug::aten {
namespace {

constexpr c10::DispatchKeySet kKeys{c10::DispatchKey::PrivateUse1};

using OptionalDtype = std::optional<at::ScalarType>;
using OptionalLayout = std::optional<at::Layout>;
using OptionalDevice = std::optional<at::Device>;

void check_options(OptionalLayout layout, std::optional<bool> pin_memory) {
  TORCH_CHECK(c10::layout_or_default(layout) == at::kStrided, "This tensor's layout must be strided.");
  TORCH_CHECK(!c10::pinned_memory_or_default(pin_memory), "Only dense CPU tensors can be pinned");
}

// PyTorch's functions that make a tensor with an allocator make storages of its own class.
at::Tensor complete(at::Tensor tensor) {
  c10::TensorImpl& made = *tensor.unsafeGetTensorImpl();
  if (C10_UNLIKELY(c10::GetStorageImplCreate(kDeviceType) != nullptr))
    made.set_storage_keep_dtype(
        DeviceAllocator::make_storage(made.storage().set_data_ptr(c10::DataPtr(nullptr, made.device())),
                                      made.storage().nbytes(), /*resizable=*/true));
  const at::Context& context = at::globalContext();
  if (C10_UNLIKELY(context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return tensor;
}

at::Tensor empty_memory_format(at::IntArrayRef sizes, OptionalDtype dtype, OptionalLayout layout,
                               OptionalDevice device, std::optional<bool> pin_memory,
                               std::optional<at::MemoryFormat> memory_format) {
  check_options(layout, pin_memory);
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return complete(at::detail::empty_generic(sizes, &DeviceAllocator::instance(), kKeys,
                                            c10::dtype_or_default(dtype), memory_format));
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, OptionalDtype dtype,
                         OptionalLayout layout, OptionalDevice device, std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return complete(at::detail::empty_strided_generic(sizes, strides, &DeviceAllocator::instance(), kKeys,
                                                    c10::dtype_or_default(dtype)));
}

// Zeros that take no memory: autograd's placeholder for a gradient that is zero.
at::Tensor efficient_zeros(at::IntArrayRef sizes, OptionalDtype dtype, OptionalLayout /*layout*/,
                           OptionalDevice device, std::optional<bool> /*pin_memory*/) {
  at::native::ZeroTensorAllocator allocator(c10::device_or_default(device));
  return at::detail::empty_generic(sizes, &allocator,
                                   kKeys | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor),
                                   c10::dtype_or_default(dtype), std::nullopt);
}

}  // namespace

void add_factories(OperatorLibrary& library) {
  library.impl("empty.memory_format", TORCH_FN(empty_memory_format));
  library.impl("empty_strided", TORCH_FN(empty_strided));
  library.impl("_efficientzerotensor", TORCH_FN(efficient_zeros));
}

}  // namespace torchplug::aten
