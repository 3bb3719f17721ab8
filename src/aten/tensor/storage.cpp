#include "aten/tensor/storage.h"

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>

namespace torchplug::aten {

void detail::refuse_no_storage(const c10::TensorImpl& tensor) {
  TORCH_CHECK(
      false, "A tensor on ", tensor.device(),
      " has no storage, which this operator needs. Register a kernel for it that takes such tensors.");
}

void fit_storage(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  const size_t bytes = at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize(),
                                                        static_cast<size_t>(tensor.storage_offset()));
  if (bytes > tensor.storage().nbytes()) {
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(tensor.storage(), bytes);
  }
}

}  // namespace torchplug::aten
