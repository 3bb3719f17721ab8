#pragma once
// All that what a group does in a call depends on, but for the contents of tensors. Calls of equal keys run
// the same program. For the thread of the call.

#include <ATen/core/ivalue.h>

#include <optional>

#include "graph/engine_cache.h"
#include "runtime/device.h"

namespace torchplug::torchscript {

// Nothing for a call that only PyTorch's interpreter can do: one that needs gradients or has tangents,
// tensors of other libraries, a transformation or a mode that looks at every operator.
std::optional<graph::EngineKey> key_of(c10::ArrayRef<c10::IValue> inputs);

// The device that most of the tensors are on; nothing if none is on one.
std::optional<DeviceIndex> device_of(c10::ArrayRef<c10::IValue> inputs);

bool is_autocast_on();

}  // namespace torchplug::torchscript
