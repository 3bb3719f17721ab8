#include "plugin/layers/trace.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/immortal.h"
#include "base/settings.h"
#include "plugin/layer.h"
#include "plugin/layers/trace_kernels.h"
#include "plugin/layers/trace_text.h"

namespace torchplug::plugin {
namespace tracing {
namespace {

using R = plug_runtime;

// What the parameters of a function are called, in plug.h's order. `base`, `pinned` and `mapped` are memory
// of three kinds; "-" is not written: an address of this process says nothing in another.
struct Parameters {
  const char* function;
  const char* names;
};
constexpr Parameters kParameters[] = {
    {"device_count", "count"},
    {"device_info", "device info"},
    {"device_sync", "device"},
    {"mem_alloc", "device bytes base"},
    {"mem_free", "device base"},
    {"copy", "device stream dst src bytes"},
    {"device_open", "device"},
    {"shutdown", ""},
    {"stream_create", "device priority stream"},
    {"stream_destroy", "device stream"},
    {"stream_query", "device stream"},
    {"stream_sync", "device stream"},
    {"event_create", "device flags event"},
    {"event_destroy", "device event"},
    {"event_record", "device event stream"},
    {"event_wait", "event_device event device stream"},
    {"event_query", "device event"},
    {"event_sync", "device event"},
    {"event_elapsed", "device start end ns"},
    {"mem_info", "device free total"},
    {"mem_fill", "device stream dst byte bytes"},
    {"copy_strided", "device stream dst src"},
    {"host_func", "device stream - - -"},
    {"peer_access", "device peer can_copy"},
    {"host_view", "device base -"},
    {"host_alloc", "bytes pinned"},
    {"host_free", "pinned"},
    {"capture_begin", "device stream mode"},
    {"capture_end", "device stream capture"},
    {"capture_replay", "device capture stream"},
    {"capture_destroy", "device capture"},
    {"ipc_export", "device base - capacity bytes -"},
    {"ipc_import", "device - bytes - base"},
    {"ipc_close", "device base"},
    {"ipc_export_event", "device event - capacity bytes -"},
    {"ipc_import_event", "device - bytes - event"},
    {"stream_native", "device stream -"},
    {"stream_import", "device - stream"},
    {"mem_reserve", "device bytes base"},
    {"mem_unreserve", "device base"},
    {"mem_map", "device base offset bytes"},
    {"mem_unmap", "device base offset bytes"},
    {"host_map", "device mem bytes flags mapped"},
    {"host_unmap", "device mem bytes mapped"},
    {"host_pinned", "- is_pinned"},
};
static_assert(std::size(kParameters) == kMemberCount, "a function of plug_runtime has no parameters here");

template <auto Function, auto... Others>
constexpr bool kIsAmong = (std::is_same_v<Member<Function>, Member<Others>> || ...);

// The end of what its last argument names.
template <auto Function>
constexpr bool kReleases = kIsAmong<Function, &R::mem_free, &R::stream_destroy, &R::event_destroy,
                                    &R::host_free, &R::capture_destroy, &R::ipc_close, &R::mem_unreserve>;

// The text of one call's arguments: what goes in, then what came out.
class Arguments {
 public:
  Arguments(Trace& trace, std::string_view names, bool gives_foreign)
      : trace_(trace), rest_(names), kind_of_base_(gives_foreign ? 'x' : 'm') {}

  std::string text;

  template <class T>
  void in(T value) {
    const std::string_view name = next();
    if (name == "-") return;
    if (name == "device") device_ = device_of(value);
    if (name == "event_device") event_device_ = device_of(value);
    add_in(name, value);
  }
  template <class T>
  void out(T value) {
    const std::string_view name = next();
    if (name == "device") device_ = device_of(value);
    if (name != "-") add_out(name, value);
  }

  // The handle of the last argument, which is about to become invalid.
  template <class T>
  void release(T handle) {
    if constexpr (std::is_pointer_v<T>) trace_.names.remove(kind_, device_of_kind(), handle);
  }

 private:
  std::string_view next() {
    const size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view name = rest_.substr(0, end);
    rest_.remove_prefix(std::min(rest_.size(), end + 1));
    return name;
  }

  template <class T>
  static int32_t device_of(T value) {
    if constexpr (std::is_same_v<T, int32_t>) return value;
    return 0;
  }

  void add(std::string_view name, const std::string& value) {
    text += " ";
    text += name;
    text += "=" + value;
  }
  std::string named(char kind, const void* handle) {
    kind_ = kind;
    const int32_t device = kind == 'e' && event_device_ >= 0 ? event_device_ : device_of_kind();
    return trace_.names.find(kind, device, handle);
  }
  // Pinned memory belongs to no device.
  int32_t device_of_kind() const { return kind_ == 'q' ? PLUG_HOST : device_; }
  static char kind_of(std::string_view name) {
    if (name == "pinned") return 'q';
    return name == "mapped" ? 'v' : 'x';
  }

  template <class T>
  void add_in(std::string_view name, T value) {
    if constexpr (std::is_integral_v<T>) add(name, std::to_string(value));
    // Other pointers are where an answer goes, or functions.
  }
  void add_in(std::string_view name, plug_stream stream) {
    add(name, stream == nullptr ? "s0" : named('s', stream));
  }
  void add_in(std::string_view name, plug_event event) { add(name, named('e', event)); }
  void add_in(std::string_view name, plug_capture capture) { add(name, named('c', capture)); }
  void add_in(std::string_view name, void* handle) { add(name, named(kind_of(name), handle)); }
  void add_in(std::string_view name, const plug_mem* memory) {
    const Moment moment{device_, nullptr};
    if (memory->device != PLUG_HOST)
      return add(name, CallText(trace_.names, trace_.contents, moment).memory(*memory));
    const bool is_pinned = (memory->flags & PLUG_MEM_PINNED) != 0;
    add(name, is_pinned ? "pinned" : "host");
  }
  void add_in(std::string_view name, const plug_tensor* tensor) {
    add(name, CallText(trace_.names, trace_.contents, {device_, nullptr}).tensor(*tensor, false));
  }

  template <class T>
  void add_out(std::string_view name, T value) {
    using Target = std::remove_pointer_t<T>;
    if constexpr (std::is_pointer_v<T> && std::is_integral_v<Target> && !std::is_const_v<Target>) {
      add(name, std::to_string(*value));
    }
  }
  void add_out(std::string_view name, plug_stream* stream) { add(name, given('s', *stream)); }
  void add_out(std::string_view name, plug_event* event) { add(name, given('e', *event)); }
  void add_out(std::string_view name, plug_capture* capture) { add(name, given('c', *capture)); }
  void add_out(std::string_view name, void** base) {
    const char kind = kind_of(name);
    add(name, given(kind == 'x' ? kind_of_base_ : kind, *base));
  }
  void add_out(std::string_view /*name*/, plug_device_info* info) {
    add("name", quoted(info->name));
    add("flags", hexadecimal_text(info->flags));
    add("total", std::to_string(info->total_bytes));
    add("alignment", std::to_string(info->alignment));
  }
  std::string given(char kind, const void* handle) {
    return trace_.names.add(kind, kind == 'q' ? PLUG_HOST : device_, handle);
  }

  Trace& trace_;
  std::string_view rest_;
  const char kind_of_base_;
  char kind_ = 'x';
  int32_t device_ = 0;
  int32_t event_device_ = -1;
};

class TraceLayer {
 public:
  TraceLayer(const Runtime& below, Trace& trace) : below_(below), trace_(trace) {}

  template <auto Function, class... Args>
  plug_status call(Member<Function> /*function*/, Args... args) {
    return traced<Function>("", [](plug_status /*status*/) { return std::string(); }, args...);
  }

  // With the bytes that host memory holds: before the call, or behind it.
  plug_status call(Member<&R::copy> /*function*/, int32_t device, plug_stream stream, const plug_mem* dst,
                   const plug_mem* src, uint64_t bytes) {
    const auto bytes_of = [bytes](const plug_mem& memory) {
      return text_of_bytes(static_cast<const char*>(memory.base) + memory.offset, bytes);
    };
    const bool is_written_now = dst->device == PLUG_HOST && (dst->flags & PLUG_MEM_PINNED) == 0;
    const auto results = [&](plug_status status) {
      return status == PLUG_OK && is_written_now && bytes != 0 ? bytes_of(*dst) : "";
    };
    const std::string source = src->device == PLUG_HOST && bytes != 0 ? bytes_of(*src) : "";
    return traced<&R::copy>(source, results, device, stream, dst, src, bytes);
  }

  plug_status call(Member<&R::copy_strided> /*function*/, int32_t device, plug_stream stream,
                   const plug_tensor* dst, const plug_tensor* src) {
    CallText text(trace_.names, trace_.contents, {device, stream});
    const std::string args =
        " args=[" + text.tensor(*src, true) + "] results=[" + text.tensor(*dst, false) + "]";
    const uint64_t line =
        trace_.file.begin("copy_strided device=" + std::to_string(device) + " stream=" +
                          (stream == nullptr ? "s0" : trace_.names.find('s', device, stream)) + args);
    const plug_status status = below_.call<&R::copy_strided>(device, stream, dst, src);
    const std::string results = status == PLUG_OK ? " results=[" + text.tensor(*dst, true) + "]" : "";
    trace_.file.end(line, trace_.answer(status) + results);
    return status;
  }

  // From its beginning to its end nothing is read: that would wait for a stream that captures.
  plug_status call(Member<&R::capture_begin> function, int32_t device, plug_stream stream, int32_t mode) {
    trace_.contents.note_capture(/*begins=*/true);
    const plug_status status = call<&R::capture_begin>(function, device, stream, mode);
    if (status != PLUG_OK) trace_.contents.note_capture(/*begins=*/false);
    return status;
  }
  plug_status call(Member<&R::capture_end> function, int32_t device, plug_stream stream,
                   plug_capture* capture) {
    const plug_status status = call<&R::capture_end>(function, device, stream, capture);
    trace_.contents.note_capture(/*begins=*/false);
    return status;
  }

 private:
  // `more` stands behind the arguments, results(status) behind the answer.
  template <auto Function, class Results, class... Args>
  plug_status traced(const std::string& more, Results results, Args... args) {
    constexpr const char* names = kParameters[kMemberIndex<Function>].names;
    Arguments in(trace_, names, /*gives_foreign=*/false);
    (in.in(args), ...);
    const uint64_t line = trace_.file.begin(kMemberName<Function> + in.text + more);
    if constexpr (kReleases<Function>) (in.release(args), ...);
    const plug_status status = below_.call<Function>(args...);
    std::string answer = trace_.answer(status);
    if (status == PLUG_OK) answer += outputs<Function>(names, args...);
    trace_.file.end(line, answer + results(status));
    return status;
  }

  template <auto Function, class... Args>
  std::string outputs(const char* names, Args... args) {
    Arguments out(trace_, names, kIsAmong<Function, &R::ipc_import>);
    (out.out(args), ...);
    return out.text;
  }

  const Runtime below_;
  Trace& trace_;
};

// What a plugin reports goes through its host's table: there it is written down.
class Reports {
 public:
  static void trace(plug_host& host, Trace& trace) {
    std::lock_guard lock(all().lock_);
    all().traced_[&host] = {&trace, host.report};
    host.report = report;
  }

 private:
  struct Traced {
    Trace* trace;
    decltype(plug_host::report) below;
  };

  static void report(const plug_host* host, int32_t device, plug_stream stream, uint64_t sequence,
                     plug_status status, const char* message) {
    const Traced traced = all().find(host);
    Trace& trace = *traced.trace;
    trace.file.note("report device=" + std::to_string(device) +
                    " stream=" + (stream == nullptr ? "s0" : trace.names.find('s', device, stream)) +
                    " sequence=" + std::to_string(sequence) + " status=" + status_text(status) +
                    " said=" + quoted(message));
    traced.below(host, device, stream, sequence, status, message);
  }

  Traced find(const plug_host* host) {
    std::lock_guard lock(lock_);
    return traced_.at(host);
  }

  static Reports& all() {
    static auto& reports = *immortal<Reports>();
    return reports;
  }

  std::mutex lock_;
  std::map<const plug_host*, Traced> traced_;
};

std::string header_of(const Module& module) {
  return "torchplug-trace 1 plugin=" + quoted(module.name.c_str()) +
         " version=" + quoted(module.version.c_str()) + " abi=" + std::to_string(module.abi_minor);
}

std::string path_of_trace() {
  const char* path = text_setting("TORCHPLUG_TRACE");
  return path != nullptr && *path != '\0' ? path : "torchplug-" + std::to_string(::getpid()) + ".trace";
}

}  // namespace
}  // namespace tracing

void insert_trace(Module& module) {
  using namespace tracing;
  auto& trace = *immortal<Trace>(path_of_trace(), header_of(module), module);
  insert_layer(module.runtime, *immortal<TraceLayer>(module.runtime, trace));
  trace_kernels(module, trace);
  Reports::trace(module.host, trace);
}

}  // namespace torchplug::plugin
