#pragma once
// Tensors that share memory until one of them is written: torch.Tensor._lazy_clone, by PyTorch's own means.
// Whatever writes a tensor of the device asks for memory of its own first.

#include <ATen/core/Tensor.h>

#include "aten/tensor/storage.h"
#include "memory/device_allocator.h"

namespace torchplug::aten {

at::Tensor lazy_clone(const at::Tensor& tensor);

namespace detail {

void own_other_memory(const at::TensorBase& tensor);

}  // namespace detail

// Gives the tensor's storage memory of its own if it is shared so.
inline void own_memory(const at::TensorBase& tensor) {
  const c10::DataPtr& data = storage_of(*tensor.unsafeGetTensorImpl()).data_ptr();
  if (C10_UNLIKELY(data.get_deleter() != &memory::detail::free_block)) detail::own_other_memory(tensor);
}

}  // namespace torchplug::aten
