#include "aten/tensor/from_blob.h"

#include <ATen/EmptyTensor.h>

#include <utility>

#include "memory/device_allocator.h"
#include "memory/foreign_memory.h"

namespace torchplug::aten {

at::Tensor from_blob(void* base, at::IntArrayRef sizes, at::OptionalIntArrayRef strides, at::ScalarType dtype,
                     DeviceIndex device, std::function<void(void*)> deleter) {
  const size_t itemsize = c10::elementSize(dtype);
  const size_t bytes = strides ? at::detail::computeStorageNbytes(sizes, *strides, itemsize)
                               : at::detail::computeStorageNbytesContiguous(sizes, itemsize);
  std::function<void()> release;
  if (deleter) release = [base, deleter = std::move(deleter)] { deleter(base); };
  c10::Storage storage =
      DeviceAllocator::make_storage(import_address(device, base, bytes, std::move(release)), bytes,
                                    /*resizable=*/false);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::scalarTypeToTypeMeta(dtype));
  if (strides) {
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, *strides);
  } else {
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  }
  return tensor;
}

}  // namespace torchplug::aten
