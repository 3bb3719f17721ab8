#pragma once
// The device's part in torch.profiler: a child of Kineto, PyTorch's tracing library, which asks it to start
// and to stop and takes what it has traced.

#include "base/namespaces.h"

namespace torchplug::profiler {

// Once, before any profile.
void register_activity_profiler();

}  // namespace torchplug::profiler
