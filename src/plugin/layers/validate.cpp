#include "plugin/layers/validate.h"

#include <array>
#include <bit>
#include <cstddef>
#include <string>

#include "plugin/layer.h"
#include "plugin/layers/validate_kernels.h"
#include "plugin/layers/validate_memory.h"
#include "plugin/layers/validate_messages.h"
#include "plugin/layers/validate_order.h"
#include "plugin/layers/validate_state.h"

namespace torchplug::plugin {
namespace {

using namespace validation;
using R = plug_runtime;

template <auto Function, auto... Others>
constexpr bool kIsAmong = (std::is_same_v<Member<Function>, Member<Others>> || ...);

// By which flag a device says that it lacks the function; 0: by none.
template <auto Function>
constexpr uint32_t kLack = [] {
  if (kIsAmong<Function, &R::host_view>) return uint32_t{PLUG_LACKS_HOST_VIEW};
  if (kIsAmong<Function, &R::host_func>) return uint32_t{PLUG_LACKS_HOST_FUNC};
  if (kIsAmong<Function, &R::capture_begin, &R::capture_end, &R::capture_replay, &R::capture_destroy>)
    return uint32_t{PLUG_LACKS_CAPTURE};
  return uint32_t{0};
}();

// An output in a place of the layer's own: the core's is written only with what has been checked.
template <class T>
class Output {
 public:
  explicit Output(const char* function) : function_(function), value_(std::bit_cast<T>(untouched())) {}

  T* place() { return &value_; }
  T value() const { return value_; }

  // Whether the plugin has given something.
  bool check(plug_status status) const {
    const bool is_written = std::bit_cast<Bytes>(value_) != untouched();
    if (status == PLUG_OK && !is_written) {
      violate(Rule::kOutputMissing, std::string(function_) + " answered PLUG_OK but wrote no output.");
    }
    if (status != PLUG_OK && is_written) {
      violate(Rule::kOutputOnError,
              std::string(function_) + " failed (" + status_name(status) + ") but wrote its output.");
    }
    return status == PLUG_OK;
  }

 private:
  using Bytes = std::array<std::byte, sizeof(T)>;  // NOLINT(bugprone-sizeof-expression): handles are pointers
  static Bytes untouched() {
    Bytes bytes;
    bytes.fill(std::byte{0x5C});
    return bytes;
  }

  const char* function_;
  T value_;
};

constexpr auto nothing_more = [](auto /*given*/) {};

std::string counted(size_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// ---- the functions ----

class Checks {
 public:
  explicit Checks(State& state) : state_(state), memory_(state.memory), order_(state.order) {}

  // Those of which nothing more is asked than of all.
  template <auto Function, class... Args>
  plug_status call(Member<Function> /*function*/, Args... args) {
    return ask<Function>(args...);
  }

  plug_status call(Member<&R::device_count> /*function*/, int32_t* count) {
    return ask_for<&R::device_count>(count, nothing_more);
  }

  plug_status call(Member<&R::device_open> /*function*/, int32_t device) {
    const plug_status status = ask<&R::device_open>(device);
    if (status == PLUG_OK) state_.note_open(device);
    return status;
  }

  plug_status call(Member<&R::device_sync> /*function*/, int32_t device) {
    const Clock clock = order_.device_clock(device);
    const plug_status status = ask<&R::device_sync>(device);
    if (status == PLUG_OK) {
      order_.learn("device_sync", clock, /*released=*/true);
      memory_.check_red_zones(device);
    }
    return status;
  }

  plug_status call(Member<&R::shutdown> /*function*/) {
    list_leaks();
    state_.end();
    return !state_.below.has<&R::shutdown>() ? PLUG_OK : ask<&R::shutdown>();
  }

  // ---- memory ----

  plug_status call(Member<&R::mem_alloc> /*function*/, int32_t device, uint64_t bytes, void** base) {
    const auto add = [&](void* given) { memory_.add(device, given, bytes); };
    return ask_for<&R::mem_alloc>(base, add, device, memory_.with_red_zone(device, bytes));
  }

  plug_status call(Member<&R::mem_free> /*function*/, int32_t device, void* base) {
    memory_.check_free("mem_free", device, base);
    const std::string wrong = memory_.remove(device, base);
    const plug_status status = ask<&R::mem_free>(device, base);
    if (!wrong.empty()) violate(Rule::kRedZone, wrong);
    return status;
  }

  plug_status call(Member<&R::copy> /*function*/, int32_t device, plug_stream stream, const plug_mem* dst,
                   const plug_mem* src, uint64_t bytes) {
    order_.check_stream("copy", device, stream);
    memory_.check_use("copy", *dst, {0, bytes});
    memory_.check_use("copy", *src, {0, bytes});
    const Order::Place place = order_.enqueue(device, stream);
    memory_.note_use(*dst, place);
    memory_.note_use(*src, place);
    return ask<&R::copy>(device, stream, dst, src, bytes);
  }

  plug_status call(Member<&R::mem_fill> /*function*/, int32_t device, plug_stream stream, const plug_mem* dst,
                   uint8_t byte, uint64_t bytes) {
    order_.check_stream("mem_fill", device, stream);
    memory_.check_use("mem_fill", *dst, {0, bytes});
    memory_.note_use(*dst, order_.enqueue(device, stream));
    return ask<&R::mem_fill>(device, stream, dst, byte, bytes);
  }

  plug_status call(Member<&R::copy_strided> /*function*/, int32_t device, plug_stream stream,
                   const plug_tensor* dst, const plug_tensor* src) {
    order_.check_stream("copy_strided", device, stream);
    check_tensor(state_, "copy_strided", *dst);
    check_tensor(state_, "copy_strided", *src);
    check_copy_strided(device, *dst, *src);
    const Order::Place place = order_.enqueue(device, stream);
    memory_.note_use(dst->mem, place);
    memory_.note_use(src->mem, place);
    return ask<&R::copy_strided>(device, stream, dst, src);
  }

  plug_status call(Member<&R::peer_access> /*function*/, int32_t device, int32_t peer, int32_t* can_copy) {
    state_.check_index("peer_access", peer);
    return ask_for<&R::peer_access>(can_copy, nothing_more, device, peer);
  }

  plug_status call(Member<&R::host_view> /*function*/, int32_t device, void* base, void** view) {
    memory_.check_not_freed("host_view", device, base);
    const auto check = [&](void* given) { memory_.check_view(device, base, given); };
    return ask_for<&R::host_view>(view, check, device, base);
  }

  plug_status call(Member<&R::host_map> /*function*/, int32_t device, const plug_mem* mem, uint64_t bytes,
                   uint32_t flags, void** view) {
    memory_.check_host_map(device, *mem, bytes, flags);
    const auto add = [&](void* given) { memory_.add_host_map(*mem, bytes, given); };
    return ask_for<&R::host_map>(view, add, device, mem, bytes, flags);
  }

  plug_status call(Member<&R::host_unmap> /*function*/, int32_t device, const plug_mem* mem, uint64_t bytes,
                   void* view) {
    memory_.check_host_unmap(*mem, bytes, view);
    const plug_status status = ask<&R::host_unmap>(device, mem, bytes, view);
    if (status == PLUG_OK) memory_.remove_host_map(*mem, bytes, view);
    return status;
  }

  plug_status call(Member<&R::host_pinned> /*function*/, const void* address, int32_t* is_pinned) {
    return ask_for<&R::host_pinned>(is_pinned, nothing_more, address);
  }

  plug_status call(Member<&R::host_alloc> /*function*/, uint64_t bytes, void** base) {
    const auto add = [&](void* given) { memory_.add_pinned(given, bytes); };
    return ask_for<&R::host_alloc>(base, add, bytes);
  }

  plug_status call(Member<&R::host_free> /*function*/, void* base) {
    memory_.check_pinned(base);
    memory_.remove_pinned(base);
    return ask<&R::host_free>(base);
  }

  plug_status call(Member<&R::mem_reserve> /*function*/, int32_t device, uint64_t bytes, void** base) {
    const auto add = [&](void* given) { memory_.add_reservation(device, given, bytes); };
    return ask_for<&R::mem_reserve>(base, add, device, bytes);
  }

  plug_status call(Member<&R::mem_unreserve> /*function*/, int32_t device, void* base) {
    memory_.check_unreserve(device, base);
    memory_.remove(device, base);
    return ask<&R::mem_unreserve>(device, base);
  }

  plug_status call(Member<&R::mem_map> /*function*/, int32_t device, void* base, uint64_t offset,
                   uint64_t bytes) {
    memory_.check_map("mem_map", device, base, offset, bytes, /*mapped=*/true);
    const plug_status status = ask<&R::mem_map>(device, base, offset, bytes);
    if (status == PLUG_OK) memory_.set_mapped(device, base, offset, bytes, /*mapped=*/true);
    return status;
  }

  plug_status call(Member<&R::mem_unmap> /*function*/, int32_t device, void* base, uint64_t offset,
                   uint64_t bytes) {
    memory_.check_map("mem_unmap", device, base, offset, bytes, /*mapped=*/false);
    const plug_status status = ask<&R::mem_unmap>(device, base, offset, bytes);
    if (status == PLUG_OK) memory_.set_mapped(device, base, offset, bytes, /*mapped=*/false);
    return status;
  }

  // ---- streams ----

  plug_status call(Member<&R::stream_create> /*function*/, int32_t device, int32_t priority,
                   plug_stream* stream) {
    const auto add = [&](plug_stream given) { order_.add_stream(device, given); };
    return ask_for<&R::stream_create>(stream, add, device, priority);
  }

  plug_status call(Member<&R::stream_import> /*function*/, int32_t device, void* native,
                   plug_stream* stream) {
    const auto add = [&](plug_stream given) { order_.add_import(device, given); };
    return ask_for<&R::stream_import>(stream, add, device, native);
  }

  plug_status call(Member<&R::stream_native> /*function*/, int32_t device, plug_stream stream,
                   void** native) {
    order_.check_stream("stream_native", device, stream);
    return ask<&R::stream_native>(device, stream, native);
  }

  plug_status call(Member<&R::stream_destroy> /*function*/, int32_t device, plug_stream stream) {
    order_.check_stream("stream_destroy", device, stream);
    order_.remove_stream(device, stream);
    return ask<&R::stream_destroy>(device, stream);
  }

  plug_status call(Member<&R::stream_query> /*function*/, int32_t device, plug_stream stream) {
    order_.check_stream("stream_query", device, stream);
    const Clock clock = order_.stream_clock(device, stream);
    const plug_status status = ask<&R::stream_query>(device, stream);
    if (status == PLUG_OK) order_.learn("stream_query", clock, /*released=*/false);
    return status;
  }

  plug_status call(Member<&R::stream_sync> /*function*/, int32_t device, plug_stream stream) {
    order_.check_stream("stream_sync", device, stream);
    const Clock clock = order_.stream_clock(device, stream);
    const plug_status status = ask<&R::stream_sync>(device, stream);
    if (status == PLUG_OK) order_.learn("stream_sync", clock, /*released=*/true);
    return status;
  }

  plug_status call(Member<&R::host_func> /*function*/, int32_t device, plug_stream stream,
                   void (*fn)(void*, plug_status), void (*release)(void*), void* arg) {
    order_.check_stream("host_func", device, stream);
    TrackedJob* job = order_.make_job(device, stream, fn, release, arg);
    const plug_status status =
        ask<&R::host_func>(device, stream, Order::run_job, Order::release_job, static_cast<void*>(job));
    if (status == PLUG_OK) {
      order_.job_enqueued(job);
    } else {
      order_.job_refused(job);
    }
    return status;
  }

  // ---- events ----

  plug_status call(Member<&R::event_create> /*function*/, int32_t device, uint32_t flags, plug_event* event) {
    if ((flags & ~uint32_t{PLUG_EVENT_TIMING | PLUG_EVENT_SHARED}) != 0) {
      violate(Rule::kFlags, "event_create was given flags " + std::to_string(flags) + ".");
    }
    const auto add = [&](plug_event given) { order_.add_event(device, given, flags, /*is_imported=*/false); };
    return ask_for<&R::event_create>(event, add, device, flags);
  }

  plug_status call(Member<&R::event_destroy> /*function*/, int32_t device, plug_event event) {
    order_.check_event("event_destroy", device, event);
    order_.remove_event(event);
    return ask<&R::event_destroy>(device, event);
  }

  plug_status call(Member<&R::event_record> /*function*/, int32_t device, plug_event event,
                   plug_stream stream) {
    order_.check_event("event_record", device, event);
    order_.check_stream("event_record", device, stream);
    const Clock clock = order_.stream_clock(device, stream);
    const plug_status status = ask<&R::event_record>(device, event, stream);
    if (status == PLUG_OK) order_.record(event, clock);
    return status;
  }

  plug_status call(Member<&R::event_wait> /*function*/, int32_t event_device, plug_event event,
                   int32_t stream_device, plug_stream stream) {
    state_.check_device("event_wait", stream_device);
    order_.check_event("event_wait", event_device, event);
    order_.check_stream("event_wait", stream_device, stream);
    const plug_status status = ask<&R::event_wait>(event_device, event, stream_device, stream);
    if (status == PLUG_OK) order_.wait(event, stream_device, stream);
    return status;
  }

  plug_status call(Member<&R::event_query> /*function*/, int32_t device, plug_event event) {
    order_.check_event("event_query", device, event);
    const Clock clock = order_.event_clock(event);
    const bool must_be_ready = order_.is_never_recorded(event);
    const plug_status status = ask<&R::event_query>(device, event);
    if (status == PLUG_OK) order_.learn("event_query", clock, /*released=*/false);
    if (status == PLUG_NOT_READY && must_be_ready) {
      violate(Rule::kEventNeverRecorded,
              "event_query says that an event that was never recorded is not ready.");
    }
    return status;
  }

  plug_status call(Member<&R::event_sync> /*function*/, int32_t device, plug_event event) {
    order_.check_event("event_sync", device, event);
    const Clock clock = order_.event_clock(event);
    const plug_status status = ask<&R::event_sync>(device, event);
    if (status == PLUG_OK) order_.learn("event_sync", clock, /*released=*/false);
    return status;
  }

  plug_status call(Member<&R::event_elapsed> /*function*/, int32_t device, plug_event start, plug_event end,
                   int64_t* ns) {
    for (plug_event event : {start, end}) {
      order_.check_event("event_elapsed", device, event);
      if (!order_.is_timed(event)) {
        violate(Rule::kElapsedUntimed, "event_elapsed was given an event made without PLUG_EVENT_TIMING.");
      }
    }
    return ask_for<&R::event_elapsed>(ns, nothing_more, device, start, end);
  }

  // ---- captures ----

  plug_status call(Member<&R::capture_begin> /*function*/, int32_t device, plug_stream stream, int32_t mode) {
    order_.check_stream("capture_begin", device, stream);
    order_.check_capture_begin(device, stream);
    if (mode < PLUG_CAPTURE_GLOBAL || mode > PLUG_CAPTURE_RELAXED) {
      violate(Rule::kFlags, "capture_begin was given mode " + std::to_string(mode) + ".");
    }
    const plug_status status = ask<&R::capture_begin>(device, stream, mode);
    if (status == PLUG_OK) order_.begin_capture(device, stream);
    return status;
  }

  // However it ends, the stream captures no more.
  plug_status call(Member<&R::capture_end> /*function*/, int32_t device, plug_stream stream,
                   plug_capture* capture) {
    order_.check_capture_end(device, stream);
    struct End {
      Order& order;
      int32_t device;
      plug_stream stream;
      ~End() { order.end_capture(device, stream); }
    } const end{order_, device, stream};
    const auto add = [&](plug_capture given) { order_.add_capture(device, given); };
    return ask_for<&R::capture_end>(capture, add, device, stream);
  }

  plug_status call(Member<&R::capture_replay> /*function*/, int32_t device, plug_capture capture,
                   plug_stream stream) {
    order_.check_capture("capture_replay", device, capture);
    order_.check_stream("capture_replay", device, stream);
    order_.check_replay(capture, device, stream);
    order_.note_replay(capture, order_.enqueue(device, stream));
    return ask<&R::capture_replay>(device, capture, stream);
  }

  plug_status call(Member<&R::capture_destroy> /*function*/, int32_t device, plug_capture capture) {
    order_.check_capture("capture_destroy", device, capture);
    if (state_.below.has<&R::stream_create>()) order_.check_destroy(capture);
    order_.remove_capture(capture);
    return ask<&R::capture_destroy>(device, capture);
  }

  // ---- other processes ----

  plug_status call(Member<&R::ipc_export> /*function*/, int32_t device, void* base, void* handle,
                   uint64_t capacity, uint64_t* bytes, int32_t* fd) {
    memory_.check_live("ipc_export", device, base);
    return ask<&R::ipc_export>(device, base, handle, capacity, bytes, fd);
  }

  plug_status call(Member<&R::ipc_import> /*function*/, int32_t device, const void* handle, uint64_t bytes,
                   int32_t fd, void** base) {
    const auto add = [&](void* given) { memory_.add_import(device, given); };
    return ask_for<&R::ipc_import>(base, add, device, handle, bytes, fd);
  }

  plug_status call(Member<&R::ipc_close> /*function*/, int32_t device, void* base) {
    memory_.check_import(device, base);
    memory_.check_free("ipc_close", device, base);
    memory_.remove(device, base);
    return ask<&R::ipc_close>(device, base);
  }

  plug_status call(Member<&R::ipc_export_event> /*function*/, int32_t device, plug_event event, void* handle,
                   uint64_t capacity, uint64_t* bytes, int32_t* fd) {
    order_.check_event("ipc_export_event", device, event);
    return ask<&R::ipc_export_event>(device, event, handle, capacity, bytes, fd);
  }

  plug_status call(Member<&R::ipc_import_event> /*function*/, int32_t device, const void* handle,
                   uint64_t bytes, int32_t fd, plug_event* event) {
    const auto add = [&](plug_event given) {
      order_.add_event(device, given, PLUG_EVENT_SHARED, /*is_imported=*/true);
    };
    return ask_for<&R::ipc_import_event>(event, add, device, handle, bytes, fd);
  }

 private:
  // Calls the plugin, and asks of the answer what is asked of every answer.
  template <auto Function, class... Args>
  plug_status ask(Args... args) {
    take_plugin_error();
    return state_.check_status(kMemberName<Function>, state_.below.call<Function>(args...),
                               kIsAmong<Function, &R::stream_query, &R::event_query>);
  }

  // Asks for one thing, the last argument; `take` is given it before the core is.
  template <auto Function, class T, class Take, class... Args>
  plug_status ask_for(T* result, Take take, Args... args) {
    Output<T> output(kMemberName<Function>);
    const plug_status status = ask<Function>(args..., output.place());
    if (!output.check(status)) return status;
    take(output.value());
    *result = output.value();
    return status;
  }

  void list_leaks() {
    const Memory::Count live = memory_.live();
    const Memory::Count pinned = memory_.pinned();
    const size_t held = memory_.host_maps() + order_.events() + order_.captures() + state_.engines.count();
    if (live.number + pinned.number + held == 0) return;
    note(Rule::kLeak, "Not released at exit: " + counted(live.number, "allocation") + " (" +
                          counted(live.bytes, "byte") + "), " + counted(pinned.number, "pinned block") +
                          ", " + counted(memory_.host_maps(), "mapped range") + ", " +
                          counted(order_.events(), "event") + ", " + counted(order_.captures(), "capture") +
                          " and " + counted(state_.engines.count(), "engine") + ".");
  }

  State& state_;
  Memory& memory_;
  Order& order_;
};

class ValidateLayer {
 public:
  ValidateLayer(const Runtime& below, const plug_host& host) : state_(below, host) {}

  template <auto Function, class... Args>
  plug_status call(Member<Function> function, Args... args) {
    return guarded(kMemberName<Function>, [&] {
      check_first<Function>(args...);
      return checks_.call(function, args...);
    });
  }

  plug_status call_kernel(const plug_kernel& kernel, const plug_call& call) {
    return guarded(title_of(kernel, call), [&] { return check_kernel(state_, kernel, call); });
  }
  plug_status call_engine(const plug_kernel& kernel, const plug_call& call, const EngineKernel& engine) {
    return guarded(engine.function, [&] { return check_kernel(state_, kernel, call, engine); });
  }
  template <class Below, class... Args>
  plug_status call_compiler(const char* name, const Below& below, Args... args) {
    return guarded(name, [&] {
      state_.check_device(name, device_of_call(args...));
      return check_compiler(name, below, args...);
    });
  }
  plug_status call_prepare(const plug_kernel& kernel, const plug_call& call, void** kept) {
    return guarded(title_of(kernel, call), [&] { return check_prepare(state_, kernel, call, kept); });
  }
  // There is nobody to give an answer to.
  void call_forget(const plug_kernel& kernel, void* kept) {
    const plug_status status = guarded("forget", [&] {
      state_.kernel_states.check_forget(kept);
      return PLUG_OK;
    });
    if (status != PLUG_OK) log_message(3, take_plugin_error().c_str());
    if (kernel.forget != nullptr) kernel.forget(kept);
  }

 private:
  // ---- the compiler ----

  plug_status check_compiler(const char* /*name*/, const decltype(CompilerCalls::compile)& below,
                             const plug_compile* wish, plug_engine* engine) {
    return check_compile(state_, below, wish, engine);
  }
  plug_status check_compiler(const char* /*name*/, const decltype(CompilerCalls::engine_load)& below,
                             int32_t device, const void* data, uint64_t bytes, plug_engine* engine) {
    return check_load(state_, below, device, data, bytes, engine);
  }
  plug_status check_compiler(const char* name, const decltype(CompilerCalls::engine_destroy)& below,
                             int32_t device, plug_engine engine) {
    state_.engines.check_destroy(device, engine);
    return answered(name, below, device, engine);
  }
  template <class Below, class... Args>
  plug_status check_compiler(const char* name, const Below& below, int32_t device, plug_engine engine,
                             Args... args) {
    state_.engines.check_live(name, device, engine);
    return answered(name, below, device, engine, args...);
  }
  template <class Below, class... Args>
  plug_status check_compiler(const char* name, const Below& below, int32_t device, Args... args) {
    return answered(name, below, device, args...);
  }
  template <class Below, class... Args>
  plug_status answered(const char* name, const Below& below, Args... args) {
    take_plugin_error();
    return state_.check_status(name, below(args...), /*is_query=*/false);
  }

  // What every call goes through.
  template <class Body>
  plug_status guarded(const char* function, Body body) {
    try {
      state_.check_moment(function);
      return body();
    } catch (const Violation& violation) {
      state_.host.set_error(&state_.host, violation.what());
      return PLUG_INVALID;
    }
  }

  // The first argument, if it is a device.
  template <auto Function, class... Rest>
  void check_first(int32_t device, Rest... /*rest*/) {
    if (kIsAmong<Function, &R::device_info, &R::device_open, &R::peer_access>) {
      state_.check_index(kMemberName<Function>, device);
    } else {
      state_.check_device(kMemberName<Function>, device);
      if (kLack<Function> != 0) state_.memory.check_lacks(kMemberName<Function>, device, kLack<Function>);
    }
  }
  template <auto Function, class... Args>
  void check_first(Args... /*args*/) {}

  State state_;
  Checks checks_{state_};
};

}  // namespace

// There is always a shutdown to call, so that what is left is listed.
void insert_validate(Module& module) {
  prepare_messages();
  auto& layer = *immortal<ValidateLayer>(module.runtime, module.host);
  insert_layer(module.runtime, layer);
  insert_kernel_layer(module, layer);
  insert_compiler_layer(module, layer);
  module.runtime.replace<&R::shutdown>(layer);
}

}  // namespace torchplug::plugin
