#pragma once
// An engine as bytes: for another process of the same compiler and processor.

#include <optional>
#include <vector>

#include "engine.h"

namespace torchplug::sim::compiler {

std::vector<char> pack(const EngineParts& parts);
// Nothing for bytes that pack() did not write here, or that are damaged.
std::optional<EngineParts> unpack(const char* data, std::uint64_t bytes);

}  // namespace torchplug::sim::compiler
