#pragma once
// Making tensors: of given sizes and strides, or, by the million, like another whose sizes, strides and what
// follows from them have been worked out already: device tensors, and the CPU's on their memory.

#include <ATen/core/Tensor.h>

#include "runtime/stream.h"

namespace torchplug::aten {

class ShapedTensorImpl : public c10::TensorImpl {
 public:
  using TensorImpl::TensorImpl;
  // Takes the other's sizes and strides.
  void look_like(const c10::TensorImpl& other);
};

class DeviceTensorImpl final : public ShapedTensorImpl {
 public:
  // A prototype: no memory, just the looks.
  DeviceTensorImpl(c10::ScalarType dtype, c10::IntArrayRef sizes, c10::IntArrayRef strides);
  // A tensor that looks like the prototype.
  DeviceTensorImpl(c10::Storage&& storage, const DeviceTensorImpl& prototype);
  // A tensor that looks like another but for its dtype.
  DeviceTensorImpl(c10::Storage&& storage, c10::ScalarType dtype, const c10::TensorImpl& other);
};

// Uninitialised, with memory from the given stream.
at::Tensor empty_on(const Stream& stream, at::IntArrayRef sizes, at::IntArrayRef strides,
                    at::ScalarType dtype);
// `bytes`: of a storage that holds a tensor like the prototype.
at::Tensor empty_on(const Stream& stream, const DeviceTensorImpl& prototype, size_t bytes);
// Of the sizes and strides of another tensor, which has no gaps.
at::Tensor empty_like_on(const Stream& stream, const c10::TensorImpl& dense, at::ScalarType dtype);

}  // namespace torchplug::aten
