#pragma once
// PyTorch's device guard for the active plugin: current device, streams and events by virtual call.

#include <c10/core/Event.h>

#include <memory>

#include "runtime/event.h"

namespace torchplug::pytorch {

// Registers the guard with PyTorch, for the life of the process.
void register_guard();

// Makes `event` stand for `ours`, which it keeps. PyTorch makes an event when it is first recorded and leaves
// no other way to give it one. It must not have been recorded.
void put_into(c10::Event& event, std::unique_ptr<Event> ours);
// The event behind one of PyTorch's; null if it has not been recorded.
Event* event_behind(const c10::Event& event);

}  // namespace torchplug::pytorch
