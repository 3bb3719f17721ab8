#include "base/operator_library.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/immortal.h"

namespace torchplug::base {

torch::Library& operator_library(const char* space, c10::DispatchKey key) {
  static std::mutex lock;
  static auto& libraries = *immortal<std::map<std::pair<std::string, c10::DispatchKey>, torch::Library>>();
  const std::lock_guard guard(lock);
  return libraries
      .try_emplace({space, key}, torch::Library::IMPL, space, key, __FILE__, static_cast<uint32_t>(__LINE__))
      .first->second;
}

}  // namespace torchplug::base
