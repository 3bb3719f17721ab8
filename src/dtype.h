#pragma once
// PyTorch's element types as plug.h names them.

#include <c10/core/ScalarType.h>

#include <optional>

#include "torchplug/plug.h"

namespace torchplug {

// Nothing for a type plug.h has no name for.
std::optional<plug_dtype> to_plug_dtype(c10::ScalarType type);
std::optional<c10::ScalarType> to_scalar_type(plug_dtype dtype);

}  // namespace torchplug
