#pragma once
// The device's part in the older torch.autograd.profiler: events around each operator.

#include "base/namespaces.h"

namespace torchplug::profiler {

// Once, before any profile.
void register_profiler_stubs();

}  // namespace torchplug::profiler
