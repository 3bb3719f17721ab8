#pragma once
// Objects that are never destroyed: worker threads, Python and other libraries' destructors may still
// reach them while the process ends.

#include <memory>
#include <utility>

#include "base/namespaces.h"

namespace torchplug::base {

template <class T, class... Args>
T* immortal(Args&&... args) {
  return std::make_unique<T>(std::forward<Args>(args)...).release();
}

}  // namespace torchplug::base
