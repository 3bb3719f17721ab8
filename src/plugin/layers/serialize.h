#pragma once
// One lock around every call into a plugin that set PLUG_SERIALIZE.
// The lock is recursive, since a kernel's call to host->scratch may come back as mem_alloc, and it
// is not held while waiting for a stream, an event or a device: waiting polls. What a stream still has to do
// when it is destroyed cannot be asked for; device_sync waits for that with the lock held.

#include <mutex>

#include "plugin/module.h"

namespace torchplug::plugin {

// Replaces the functions of module.runtime, the process's one device plugin, by ones that take the lock.
void serialize(Module& module);

// Held around a kernel; empty for a plugin that may be called concurrently.
std::unique_lock<std::recursive_mutex> lock_calls(const Module& module);

}  // namespace torchplug::plugin
