#pragma once
// How a tensor and the memory it lies on fit together.

#include <ATen/core/Tensor.h>

#include "base/namespaces.h"

namespace torchplug::aten {

// Grows the storage to what the tensor spans, if it has to. A tensor without elements spans nothing.
void fit_storage(const at::Tensor& tensor);

}  // namespace torchplug::aten
