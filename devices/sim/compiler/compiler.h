#pragma once
// The table L2: graphs become C++, which the system's compiler builds.

#include "options.h"
#include "torchplug/plug.h"

namespace torchplug::sim::compiler {

// Once, by the entry point.
plug_compiler make_compiler(const Options& options);

}  // namespace torchplug::sim::compiler
