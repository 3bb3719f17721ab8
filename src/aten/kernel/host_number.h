#pragma once
// Single numbers in host memory, converted there: a Python number beside a tensor of the device is read by
// the kernel in the dtype it computes in, and nothing is uploaded.

#include <array>
#include <cstddef>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::aten {

// Room for a number of any dtype; lives as long as the call.
struct alignas(16) NumberRoom {
  std::array<std::byte, 16> bytes;
};

// Makes a number of plug.h's a number of the given dtype, which lies in the room then; as PyTorch casts. A
// tensor of the device stays as it is.
void convert_number(plug_tensor& number, plug_dtype dtype, NumberRoom& room);

}  // namespace torchplug::aten
