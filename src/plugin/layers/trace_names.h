#pragma once
// What a trace calls the handles that a plugin has given: m1, m2 ... for memory, s1 for streams, e1 for
// events, c1 for captures, g1 for engines, p1 for what `prepare` kept, q1 for pinned memory, v1 for what
// host_map gave; x1 for memory that the plugin did not give. A number is never used again. Belongs to a
// TraceLayer; any thread may ask.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "base/namespaces.h"

namespace torchplug::plugin::tracing {

class Names {
 public:
  std::string add(char kind, int32_t device, const void* handle) {
    std::lock_guard lock(lock_);
    return names_[key(kind, device, handle)] = kind + std::to_string(++counts_[kind]);
  }

  // The name, made now if the plugin did not give the handle.
  std::string find(char kind, int32_t device, const void* handle) {
    std::lock_guard lock(lock_);
    std::string& name = names_[key(kind, device, handle)];
    if (name.empty()) name = kind + std::to_string(++counts_[kind]);
    return name;
  }

  void remove(char kind, int32_t device, const void* handle) {
    std::lock_guard lock(lock_);
    names_.erase(key(kind, device, handle));
  }

 private:
  using Key = std::tuple<char, int32_t, const void*>;
  static Key key(char kind, int32_t device, const void* handle) {
    return {kind == 'x' ? 'm' : kind, device, handle};
  }

  std::mutex lock_;
  std::map<Key, std::string> names_;
  std::map<char, uint64_t> counts_;
};

}  // namespace torchplug::plugin::tracing
