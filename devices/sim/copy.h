#pragma once
// Moving and filling bytes, in stream order. Where host memory is good only until the call returns,
// the call does what must be done before that; everything else is left to the stream.
// Any thread may call anything.

#include <cstdint>

#include "stream.h"
#include "torchplug/plug.h"

namespace torchplug::sim {

// Ranges may overlap.
void copy(Stream& stream, const plug_mem& dst, const plug_mem& src, std::uint64_t bytes);

void fill(Stream& stream, const plug_mem& dst, std::uint8_t byte, std::uint64_t bytes);

// PLUG_UNSUPPORTED for other layouts, and for a conversion of types that sim does not calculate with.
plug_status copy_strided(Stream& stream, const plug_tensor& dst, const plug_tensor& src);

}  // namespace torchplug::sim
