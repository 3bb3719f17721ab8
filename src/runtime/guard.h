#pragma once
// PyTorch's device guard for the active plugin: current device, streams and events by virtual call.

namespace torchplug {

// Registers the guard with PyTorch, for the life of the process.
void register_guard();

}  // namespace torchplug
