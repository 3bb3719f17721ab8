#pragma once
// How a tensor and the memory it lies on fit together.

#include <ATen/core/Tensor.h>

#include "base/namespaces.h"

namespace torchplug::aten {

namespace detail {

[[noreturn]] void refuse_no_storage(const c10::TensorImpl& tensor);

}  // namespace detail

// The storage of a tensor of the device. Throws for one that has none, as an opaque tensor of an extension's.
inline c10::StorageImpl& storage_of(const c10::TensorImpl& tensor) {
  c10::StorageImpl* storage = tensor.unsafe_storage().unsafeGetStorageImpl();
  if (C10_UNLIKELY(storage == nullptr)) detail::refuse_no_storage(tensor);
  return *storage;
}

// Grows the storage to what the tensor spans, if it has to. A tensor without elements spans nothing.
void fit_storage(const at::Tensor& tensor);

}  // namespace torchplug::aten
