#pragma once
// CPU tensors on memory of whatever origin: what HostAlias, Loan and others stand for device tensors with.

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>

#include <utility>

#include "base/namespaces.h"

namespace torchplug::aten {

// A CPU kernel that resizes it replaces the memory by the host's own.
inline c10::Storage host_storage(c10::DataPtr data, size_t bytes) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                               static_cast<int64_t>(bytes), std::move(data),
                                               c10::GetCPUAllocator(), /*resizable=*/true);
}

// Sizes and strides are for the caller to set.
inline at::Tensor host_tensor_on(c10::Storage storage, caffe2::TypeMeta dtype) {
  return at::detail::make_tensor<c10::TensorImpl>(std::move(storage),
                                                  c10::DispatchKeySet(c10::DispatchKey::CPU), dtype);
}

}  // namespace torchplug::aten
