#pragma once
// A tensor over device memory that the allocator did not give: include/torchplug/torchplug.hpp says what of.

#include <ATen/core/Tensor.h>

#include <functional>

#include "runtime/device.h"

namespace torchplug::aten {

at::Tensor from_blob(void* base, at::IntArrayRef sizes, at::OptionalIntArrayRef strides, at::ScalarType dtype,
                     DeviceIndex device, std::function<void(void*)> deleter);

}  // namespace torchplug::aten
