#pragma once
// How what a CPU kernel computed gets into the output that was planned for it.

#include <ATen/core/Tensor.h>

#include <string>

#include "base/namespaces.h"

namespace torchplug::aten {

// Into a planned output, a result that the kernel allocated itself. Throws if it looks otherwise.
void copy_result(const at::Tensor& result, const at::Tensor& output, const std::string& name);

// After an out form has written `output`, whose storage was at `place`. Throws if it was resized. Some
// kernels leave an output lazily conjugated: the device's tensor is out of reach by now, so its memory has
// to say it.
void settle_output(const at::Tensor& output, const void* place, const std::string& name);

}  // namespace torchplug::aten
