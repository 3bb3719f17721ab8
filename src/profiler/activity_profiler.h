#pragma once
// The device's part in torch.profiler: a child of Kineto, PyTorch's tracing library, which asks it to start
// and to stop and takes what it has traced.

namespace torchplug {

// Once, before any profile.
void register_activity_profiler();

}  // namespace torchplug
