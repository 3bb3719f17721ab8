#pragma once
// Operators that make one element of many. Sums are added up in float64 or int64, float32 by sixteens first,
// in an order that depends on the shape alone, so that a result is the same with any number of threads.

#include <optional>

#include "torchplug/plug.hpp"

namespace torchplug::sim {

plug_status sum(plug::Call& call, plug::Tensor self, std::optional<plug::Ints> dim, bool keepdim,
                std::optional<plug::Dtype> dtype, plug::Out result);
plug_status mean(plug::Call& call, plug::Tensor self, std::optional<plug::Ints> dim, bool keepdim,
                 std::optional<plug::Dtype> dtype, plug::Out result);
plug_status amax(plug::Call& call, plug::Tensor self, plug::Ints dim, bool keepdim, plug::Out result);

}  // namespace torchplug::sim
