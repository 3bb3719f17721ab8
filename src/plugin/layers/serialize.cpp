#include "plugin/layers/serialize.h"

#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "base/immortal.h"
#include "plugin/layer.h"

namespace torchplug::plugin {
namespace {

using R = plug_runtime;

std::recursive_mutex calls_lock;

// The streams there are, beside the default ones; guarded by calls_lock.
std::set<std::pair<int32_t, plug_stream>>& streams() {
  static auto& made = *immortal<std::set<std::pair<int32_t, plug_stream>>>();
  return made;
}

// Asks again and again, taking the lock only to ask.
template <class Question>
void wait_until(Question is_over) {
  for (;;) {
    {
      std::lock_guard lock(calls_lock);
      if (is_over()) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

struct Serialized {
  static plug_runtime inner;

  template <auto Function, class... Args>
  static plug_status call(Member<Function> /*function*/, Args... args) {
    std::lock_guard lock(calls_lock);
    return (inner.*Function)(args...);
  }

  static plug_status call(Member<&R::stream_sync> function, int32_t device, plug_stream stream) {
    wait_until([&] { return inner.stream_query(device, stream) != PLUG_NOT_READY; });
    return call<&R::stream_sync>(function, device, stream);
  }

  static plug_status call(Member<&R::event_sync> function, int32_t device, plug_event event) {
    wait_until([&] { return inner.event_query(device, event) != PLUG_NOT_READY; });
    return call<&R::event_sync>(function, device, event);
  }

  static plug_status call(Member<&R::device_sync> function, int32_t device) {
    if (inner.stream_query != nullptr) {
      for (plug_stream stream : streams_of(device)) {
        wait_until([&] {
          const bool is_gone = stream != nullptr && !streams().contains({device, stream});
          return is_gone || inner.stream_query(device, stream) != PLUG_NOT_READY;
        });
      }
    }
    return call<&R::device_sync>(function, device);
  }

  static plug_status call(Member<&R::stream_create> /*function*/, int32_t device, int32_t priority,
                          plug_stream* stream) {
    std::lock_guard lock(calls_lock);
    const plug_status status = inner.stream_create(device, priority, stream);
    if (status == PLUG_OK) streams().emplace(device, *stream);
    return status;
  }

  static plug_status call(Member<&R::stream_import> /*function*/, int32_t device, void* native,
                          plug_stream* stream) {
    std::lock_guard lock(calls_lock);
    const plug_status status = inner.stream_import(device, native, stream);
    if (status == PLUG_OK) streams().emplace(device, *stream);
    return status;
  }

  static plug_status call(Member<&R::stream_destroy> /*function*/, int32_t device, plug_stream stream) {
    std::lock_guard lock(calls_lock);
    streams().erase({device, stream});
    return inner.stream_destroy(device, stream);
  }

 private:
  static std::vector<plug_stream> streams_of(int32_t device) {
    std::vector<plug_stream> found{nullptr};
    std::lock_guard lock(calls_lock);
    for (const auto& [owner, stream] : streams()) {
      if (owner == device) found.push_back(stream);
    }
    return found;
  }
};

constinit plug_runtime Serialized::inner{};

}  // namespace

void serialize(Module& module) { insert_layer<Serialized>(module.runtime); }

std::unique_lock<std::recursive_mutex> lock_calls(const Module& module) {
  if ((module.flags & PLUG_SERIALIZE) == 0) return {};
  return std::unique_lock(calls_lock);
}

}  // namespace torchplug::plugin
