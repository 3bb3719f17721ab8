#pragma once
// What is wrong with a package or with what it is given, as one sentence.

#include <c10/util/Exception.h>

#include "base/namespaces.h"
#include "graph/error.h"

namespace torchplug::package {

// Throws a c10::ValueError, in Python a ValueError.
template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  C10_THROW_ERROR(ValueError, graph::say(parts...));
}

}  // namespace torchplug::package
