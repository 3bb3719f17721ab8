#pragma once
// Making device tensors: of given sizes and strides, or, by the million, from a prototype that has those and
// what follows from them already worked out.

#include <ATen/core/Tensor.h>

#include "runtime/stream.h"

namespace torchplug::aten {

class DeviceTensorImpl final : public c10::TensorImpl {
 public:
  // A prototype: no memory, just the looks.
  DeviceTensorImpl(c10::ScalarType dtype, c10::IntArrayRef sizes, c10::IntArrayRef strides);
  // A tensor that looks like the prototype.
  DeviceTensorImpl(c10::Storage&& storage, const DeviceTensorImpl& prototype);
};

// Uninitialised, with memory from the given stream.
at::Tensor empty_on(const Stream& stream, at::IntArrayRef sizes, at::IntArrayRef strides,
                    at::ScalarType dtype);
// `bytes`: of a storage that holds a tensor like the prototype.
at::Tensor empty_on(const Stream& stream, const DeviceTensorImpl& prototype, size_t bytes);

}  // namespace torchplug::aten
