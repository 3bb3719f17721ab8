#pragma once
// Device tensors made by the million: from a prototype that has the sizes, strides and what follows from
// them already worked out.

#include <c10/core/TensorImpl.h>

#include "base/namespaces.h"

namespace torchplug::aten {

class DeviceTensorImpl final : public c10::TensorImpl {
 public:
  // A prototype: no memory, just the looks.
  DeviceTensorImpl(c10::ScalarType dtype, c10::IntArrayRef sizes, c10::IntArrayRef strides);
  // A tensor that looks like the prototype.
  DeviceTensorImpl(c10::Storage&& storage, const DeviceTensorImpl& prototype);
};

}  // namespace torchplug::aten
