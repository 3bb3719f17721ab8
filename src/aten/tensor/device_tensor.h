#pragma once
// Tensors that take their sizes, their strides and what follows from them from another, where it has been
// worked out already: device tensors, made by the million, and the CPU's on their memory.

#include <c10/core/TensorImpl.h>

#include "base/namespaces.h"

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

}  // namespace torchplug::aten
