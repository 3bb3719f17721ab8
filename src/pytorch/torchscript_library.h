#pragma once
// The library of TorchScript groups, which lies beside this one: loaded when it is first asked for, and kept.
// Any thread.

#include "torchscript/entry.h"

namespace torchplug::pytorch {

// Throws if it is not there, or cannot be loaded.
const torchscript::Entry& torchscript_library();
// Null: nobody has asked for it yet.
const torchscript::Entry* loaded_torchscript_library();

}  // namespace torchplug::pytorch
