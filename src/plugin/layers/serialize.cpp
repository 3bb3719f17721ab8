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

class SerializeLayer {
 public:
  explicit SerializeLayer(const Runtime& below) : below_(below) {}

  std::recursive_mutex& lock() { return calls_lock_; }

  template <auto Function, class... Args>
  plug_status call(Member<Function> /*function*/, Args... args) {
    std::lock_guard lock(calls_lock_);
    return below_.call<Function>(args...);
  }

  plug_status call(Member<&R::stream_sync> function, int32_t device, plug_stream stream) {
    wait_until([&] { return below_.call<&R::stream_query>(device, stream) != PLUG_NOT_READY; });
    return call<&R::stream_sync>(function, device, stream);
  }

  plug_status call(Member<&R::event_sync> function, int32_t device, plug_event event) {
    wait_until([&] { return below_.call<&R::event_query>(device, event) != PLUG_NOT_READY; });
    return call<&R::event_sync>(function, device, event);
  }

  plug_status call(Member<&R::device_sync> function, int32_t device) {
    if (below_.has<&R::stream_query>()) {
      for (plug_stream stream : streams_of(device)) {
        wait_until([&] {
          const bool is_gone = stream != nullptr && !streams_.contains({device, stream});
          return is_gone || below_.call<&R::stream_query>(device, stream) != PLUG_NOT_READY;
        });
      }
    }
    return call<&R::device_sync>(function, device);
  }

  plug_status call(Member<&R::stream_create> /*function*/, int32_t device, int32_t priority,
                   plug_stream* stream) {
    std::lock_guard lock(calls_lock_);
    const plug_status status = below_.call<&R::stream_create>(device, priority, stream);
    if (status == PLUG_OK) streams_.emplace(device, *stream);
    return status;
  }

  plug_status call(Member<&R::stream_import> /*function*/, int32_t device, void* native,
                   plug_stream* stream) {
    std::lock_guard lock(calls_lock_);
    const plug_status status = below_.call<&R::stream_import>(device, native, stream);
    if (status == PLUG_OK) streams_.emplace(device, *stream);
    return status;
  }

  plug_status call(Member<&R::stream_destroy> /*function*/, int32_t device, plug_stream stream) {
    std::lock_guard lock(calls_lock_);
    streams_.erase({device, stream});
    return below_.call<&R::stream_destroy>(device, stream);
  }

 private:
  // Asks again and again, taking the lock only to ask.
  template <class Question>
  void wait_until(Question is_over) {
    for (;;) {
      {
        std::lock_guard lock(calls_lock_);
        if (is_over()) return;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  std::vector<plug_stream> streams_of(int32_t device) {
    std::vector<plug_stream> found{nullptr};
    std::lock_guard lock(calls_lock_);
    for (const auto& [owner, stream] : streams_) {
      if (owner == device) found.push_back(stream);
    }
    return found;
  }

  const Runtime below_;
  std::recursive_mutex calls_lock_;
  std::set<std::pair<int32_t, plug_stream>> streams_;  // beside the default ones; guarded by calls_lock_
};

}  // namespace

void serialize(Module& module) {
  auto& layer = *immortal<SerializeLayer>(module.runtime);
  insert_layer(module.runtime, layer);
  module.calls_lock = &layer.lock();
}

std::unique_lock<std::recursive_mutex> lock_calls(const Module& module) {
  return module.calls_lock == nullptr ? std::unique_lock<std::recursive_mutex>()
                                      : std::unique_lock(*module.calls_lock);
}

}  // namespace torchplug::plugin
