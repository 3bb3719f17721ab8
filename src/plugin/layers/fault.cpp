#include "plugin/layers/fault.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/immortal.h"
#include "base/settings.h"
#include "plugin/layer.h"
#include "plugin/layers/fault_list.h"

namespace torchplug::plugin {
namespace {

using R = plug_runtime;

std::string told(const Fault& fault) { return "the fault layer was told '" + fault.text + "'"; }

// The device that a call names, and the bytes it asks for.
struct Subject {
  int32_t device = -1;
  uint64_t bytes = 0;
};

template <class Function, class... Args>
Subject subject_of(Function /*function*/, int32_t device, Args... /*rest*/) {
  return {device, 0};
}
template <class Function, class... Args>
Subject subject_of(Function /*function*/, Args... /*rest*/) {
  return {};
}
Subject subject_of(Member<&R::mem_alloc> /*function*/, int32_t device, uint64_t bytes, void** /*base*/) {
  return {device, bytes};
}
Subject subject_of(Member<&R::mem_reserve> /*function*/, int32_t device, uint64_t bytes, void** /*base*/) {
  return {device, bytes};
}
Subject subject_of(Member<&R::mem_map> /*function*/, int32_t device, void* /*base*/, uint64_t /*offset*/,
                   uint64_t bytes) {
  return {device, bytes};
}
Subject subject_of(Member<&R::host_alloc> /*function*/, uint64_t bytes, void** /*base*/) {
  return {-1, bytes};
}

// ---- work on a stream ----

struct Work {
  int32_t device;
  plug_stream stream;
  uint64_t sequence;  // of an operator's call, or 0
};

// Reported by the stream when it comes to this.
struct Report {
  const plug_host& host;
  Work work;
  plug_status status;
  std::string sentence;

  void send() const { host.report(&host, work.device, work.stream, work.sequence, status, sentence.c_str()); }
};

void sleep_on_stream(void* argument, plug_status /*status*/) {
  std::this_thread::sleep_for(*static_cast<std::chrono::nanoseconds*>(argument));
}
void send_report(void* argument, plug_status /*status*/) { static_cast<Report*>(argument)->send(); }

template <class T>
void release(void* argument) {
  const std::unique_ptr<T> owned(static_cast<T*>(argument));
}

}  // namespace

class FaultLayer {
 public:
  FaultLayer(const Runtime& below, const plug_host& host) : below_(below), host_(host) {}

  void set(std::shared_ptr<const FaultList> list) {
    std::lock_guard lock(lock_);
    list_ = std::move(list);
    lost_.clear();
  }

  template <auto Function, class... Args>
  plug_status call(Member<Function> function, Args... args) {
    const Subject subject = subject_of(function, args...);
    if (!survives_loss<Function> && is_lost(subject.device)) return fail_as_lost(subject.device);
    const plug_status answer = strike(*current_faults(), kMemberName<Function>, subject);
    if (answer != PLUG_OK) return answer;
    return below_.call<Function>(args...);
  }

  // Work for a stream.
  plug_status call(Member<&R::copy> /*function*/, int32_t device, plug_stream stream, const plug_mem* dst,
                   const plug_mem* src, uint64_t bytes) {
    return work<&R::copy>({device, stream, 0}, device, stream, dst, src, bytes);
  }
  plug_status call(Member<&R::mem_fill> /*function*/, int32_t device, plug_stream stream, const plug_mem* dst,
                   uint8_t byte, uint64_t bytes) {
    return work<&R::mem_fill>({device, stream, 0}, device, stream, dst, byte, bytes);
  }
  plug_status call(Member<&R::copy_strided> /*function*/, int32_t device, plug_stream stream,
                   const plug_tensor* dst, const plug_tensor* src) {
    return work<&R::copy_strided>({device, stream, 0}, device, stream, dst, src);
  }
  plug_status call(Member<&R::host_func> /*function*/, int32_t device, plug_stream stream,
                   void (*fn)(void*, plug_status), void (*release)(void*), void* arg) {
    return work<&R::host_func>({device, stream, 0}, device, stream, fn, release, arg);
  }
  plug_status call(Member<&R::capture_replay> /*function*/, int32_t device, plug_capture capture,
                   plug_stream stream) {
    return work<&R::capture_replay>({device, stream, 0}, device, capture, stream);
  }

  // One of CPU tensors is no work of a device's.
  plug_status call_kernel(const plug_kernel& kernel, const plug_call& call) {
    if (call.device == PLUG_HOST) {
      const plug_status answer = strike(*current_faults(), "kernel", {PLUG_HOST, 0});
      return answer == PLUG_OK ? kernel.fn(&call) : answer;
    }
    return around({call.device, call.stream, call.sequence}, "kernel", [&] { return kernel.fn(&call); });
  }
  plug_status call_engine(const plug_kernel& kernel, const plug_call& call, const EngineKernel& engine) {
    const plug_status answer = strike(*current_faults(), engine.function, {call.device, 0});
    return answer == PLUG_OK ? call_kernel(kernel, call) : answer;
  }

  // A lost device takes no engine, but gives them back.
  template <class Below, class... Args>
  plug_status call_compiler(const char* name, const Below& below, Args... args) {
    const int32_t device = device_of_call(args...);
    if (is_lost(device) && std::string_view(name) != "engine_destroy") return fail_as_lost(device);
    const plug_status answer = strike(*current_faults(), name, {device, 0});
    return answer == PLUG_OK ? below(args...) : answer;
  }

 private:
  // What a lost device still answers: what it is, and the end.
  template <auto Function>
  static constexpr bool survives_loss = std::is_same_v<Member<Function>, Member<&R::device_info>>;

  template <auto Function, class... Args>
  plug_status work(const Work& work, Args... args) {
    return around(work, kMemberName<Function>, [&] { return below_.call<Function>(args...); });
  }

  template <class Enqueue>
  plug_status around(const Work& work, const char* function, Enqueue enqueue) {
    const auto list = current_faults();
    if (lose_device(*list, work) || is_lost(work.device)) return fail_as_lost(work.device);
    const plug_status answer = strike(*list, function, {work.device, 0});
    if (answer != PLUG_OK) return answer;
    slow_down(*list, work);
    const plug_status status = enqueue();
    if (status == PLUG_OK) fail_later(*list, work);
    return status;
  }

  bool lose_device(const FaultList& list, const Work& work) {
    const auto struck = std::ranges::find_if(list, [&](const auto& fault) {
      return fault->kind == Fault::Kind::kLost && fault->concerns(work.device) && fault->strikes();
    });
    if (struck == list.end()) return false;
    std::ignore = below_.call<&R::device_sync>(work.device);  // a lost device uses no memory any more
    {
      std::lock_guard lock(lock_);
      lost_.insert(work.device);
    }
    Report{host_, work, PLUG_LOST, told(**struck)}.send();
    return true;
  }

  void slow_down(const FaultList& list, const Work& work) {
    for (const auto& fault : list) {
      if (fault->kind != Fault::Kind::kSlow || !fault->concerns(work.device)) continue;
      if (fault->only_default && work.stream != nullptr) continue;
      run_on(work, sleep_on_stream, std::make_unique<std::chrono::nanoseconds>(fault->delay));
    }
  }

  void fail_later(const FaultList& list, const Work& work) {
    for (const auto& fault : list) {
      if (fault->kind != Fault::Kind::kLater || !fault->concerns(work.device) || !fault->strikes()) continue;
      run_on(work, send_report, std::make_unique<Report>(Report{host_, work, fault->status, told(*fault)}));
    }
  }

  bool has_host_func(int32_t device) const {
    plug_device_info info{};
    info.size = sizeof info;
    return below_.has<&R::host_func>() && below_.call<&R::device_info>(device, &info) == PLUG_OK &&
           (info.flags & PLUG_LACKS_HOST_FUNC) == 0;
  }

  // On the stream; at once, where a device cannot.
  template <class T>
  void run_on(const Work& work, void (*fn)(void*, plug_status), std::unique_ptr<T> argument) {
    const bool enqueued =
        has_host_func(work.device) &&
        below_.call<&R::host_func>(work.device, work.stream, fn, release<T>, argument.get()) == PLUG_OK;
    if (enqueued) {
      std::ignore = argument.release();
    } else {
      fn(argument.get(), PLUG_OK);
    }
  }

  // The answer to a call that a fault is for; PLUG_OK if it goes on.
  plug_status strike(const FaultList& list, const char* function, const Subject& subject) {
    plug_status answer = PLUG_OK;
    for (const auto& fault : list) {
      if (fault->kind != Fault::Kind::kFails || fault->function != function) continue;
      if (!fault->concerns(subject.device) || (fault->nth == 0 && subject.bytes <= fault->above_bytes))
        continue;
      if (fault->strikes() && answer == PLUG_OK) answer = fail(fault->status, told(*fault));
    }
    return answer;
  }

  // Calls copy the pointer, so that a list lives as long as a call that reads it.
  std::shared_ptr<const FaultList> current_faults() {
    std::lock_guard lock(lock_);
    return list_;
  }

  bool is_lost(int32_t device) {
    std::lock_guard lock(lock_);
    return lost_.contains(device);
  }

  plug_status fail(plug_status status, const std::string& sentence) const {
    if (status >= PLUG_INVALID) host_.set_error(&host_, sentence.c_str());
    return status;
  }

  plug_status fail_as_lost(int32_t device) const {
    return fail(PLUG_LOST, "device " + std::to_string(device) + " was lost, injected by the fault layer");
  }

  const Runtime below_;
  const plug_host& host_;
  std::mutex lock_;  // guards what goes wrong at present:
  std::shared_ptr<const FaultList> list_ = std::make_shared<FaultList>();
  std::set<int32_t> lost_;
};

void insert_fault(Module& module) {
  module.faults = immortal<FaultLayer>(module.runtime, module.host);
  const char* text = text_setting("TORCHPLUG_FAULT");
  set_faults(module, text == nullptr ? "" : text);
  insert_layer(module.runtime, *module.faults);
  insert_kernel_layer(module, *module.faults);
  insert_compiler_layer(module, *module.faults);
}

void set_faults(const Module& module, const std::string& text) {
  TORCH_CHECK(module.faults != nullptr,
              "The fault layer is not enabled. Set TORCHPLUG_LAYERS=fault before the device is first used.");
  module.faults->set(parse_faults(text));
}

}  // namespace torchplug::plugin
