#pragma once
// Contiguous tensors of PyTorch's own operators as the functions of xcpu.h take them. What those do not know
// is declined: PyTorch's CPU does it.

#include <cstdint>
#include <optional>

#include "torchplug/plug.hpp"
#include "xcpu/xcpu.h"

namespace xcpu::plugin {

xcpu_dtype known_dtype(const plug::Tensor& tensor);

// Rows of `columns` elements, one after the other.
xcpu_rows contiguous_rows(const plug::Tensor& tensor, std::int64_t columns);

template <class T>
xcpu_rows contiguous_rows(const std::optional<T>& tensor, std::int64_t columns) {
  return tensor ? contiguous_rows(static_cast<const plug::Tensor&>(*tensor), columns) : xcpu_rows{};
}

}  // namespace xcpu::plugin
