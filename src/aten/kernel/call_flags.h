#pragma once
// What the user has asked of the whole process, as plug_call.flags has it: PLUG_CALL_*.

#include <cstdint>

#include "base/namespaces.h"

namespace torchplug::aten {

// `multiplies`: whether the operator may multiply tensors, which may be asked to lose precision.
uint64_t call_flags(bool multiplies);
// Of these, those that concern products; a plan knows the others.
uint64_t precision_flags();

}  // namespace torchplug::aten
