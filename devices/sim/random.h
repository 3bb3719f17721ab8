#pragma once
// Operators that fill their result with random numbers of the call's generator.

#include <optional>

#include "torchplug/plug.hpp"

namespace torchplug::sim {

plug_status uniform(plug::Call& call, plug::Tensor self, double from, double to,
                    std::optional<plug::Generator> generator, plug::Out result);
plug_status bernoulli(plug::Call& call, plug::Out self, double p, std::optional<plug::Generator> generator,
                      plug::Out result);

}  // namespace torchplug::sim
