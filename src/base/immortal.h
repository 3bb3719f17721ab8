#pragma once
// Objects that are never destroyed: worker threads, Python and other libraries' destructors may still
// reach them while the process ends.

#include <memory>
#include <utility>

#include "base/namespaces.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace torchplug::base {

template <class T, class... Args>
T* immortal(Args&&... args) {
  T* object = std::make_unique<T>(std::forward<Args>(args)...).release();
#ifdef __SANITIZE_ADDRESS__
  __lsan_ignore_object(object);  // also where nobody keeps a pointer to it
#endif
  return object;
}

}  // namespace torchplug::base
