#pragma once
// Conversion of elements from one type to another, a row at a time: as C converts numbers, float16 and
// bfloat16 rounded to the nearest, ties to even. Any thread may call anything.

#include <cstddef>
#include <cstdint>

#include "torchplug/plug.h"

namespace torchplug::sim {

// Strides are in bytes.
using ConvertRow = void (*)(std::byte* to, std::int64_t to_stride, const std::byte* from,
                            std::int64_t from_stride, std::int64_t count) noexcept;
// Null if it knows one of the types not.
ConvertRow find_conversion(plug_dtype to, plug_dtype from);

// Applies PLUG_TENSOR_CONJ and PLUG_TENSOR_NEG to elements that lie one behind the other.
using ApplyBits = void (*)(std::byte* row, std::int64_t count, std::uint32_t flags) noexcept;
ApplyBits find_lazy_bits(plug_dtype dtype);

}  // namespace torchplug::sim
