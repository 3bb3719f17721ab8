#pragma once
// Scalars of a call.

#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "torchplug/plug.h"

namespace torchplug::sim {

// A Scalar as PyTorch converts it; nothing where PyTorch refuses it, so that PyTorch says why.
template <class T>
std::optional<T> exact(const plug_value& value) {
  if constexpr (std::is_integral_v<T>) {
    if (value.tag != PLUG_VALUE_INT || !std::in_range<T>(value.as.i)) return std::nullopt;
    return static_cast<T>(value.as.i);
  } else {
    switch (value.tag) {
      case PLUG_VALUE_INT: return static_cast<T>(value.as.i);
      case PLUG_VALUE_UINT: return static_cast<T>(value.as.u);
      case PLUG_VALUE_FLOAT: {
        const bool overflows =
            std::isfinite(value.as.f) && std::abs(value.as.f) > std::numeric_limits<T>::max();
        if (overflows) return std::nullopt;
        return static_cast<T>(value.as.f);
      }
      default: return std::nullopt;
    }
  }
}

}  // namespace torchplug::sim
