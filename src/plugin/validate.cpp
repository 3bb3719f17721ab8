#include "plugin/validate.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "immortal.h"
#include "plugin/layer.h"
#include "plugin/validate_memory.h"
#include "plugin/validate_messages.h"
#include "plugin/validate_order.h"

namespace torchplug {
namespace {

using R = plug_runtime;

const plug_host* host = nullptr;  // set when the layer is put in place
constinit plug_runtime below{};
std::atomic<bool> is_over{false};

Order& order() { return Order::instance(); }

Memory& memory() {
  static auto& instance = *immortal<Memory>(below);
  return instance;
}

struct Devices {
  std::mutex lock;
  int32_t count = -1;
  std::set<int32_t> open;
};

Devices& devices() {
  static auto& instance = *immortal<Devices>();
  return instance;
}

// ---- what is asked of every call ----

void check_moment(const char* function) {
  if (is_over) violate(Rule::kAfterShutdown, std::string(function) + " was called after shutdown.");
  if (Order::is_inside_job()) {
    violate(Rule::kCallInHostFunc,
            std::string(function) + " was called from inside a host function, on the stream's own thread.");
  }
}

void check_index(const char* function, int32_t device) {
  std::unique_lock lock(devices().lock);
  if (devices().count < 0) {
    int32_t count = 0;
    devices().count = below.device_count(&count) == PLUG_OK ? count : 0;
  }
  const int32_t count = devices().count;
  lock.unlock();
  if (device < 0 || device >= count) {
    violate(Rule::kDeviceIndex, std::string(function) + " was given device " + std::to_string(device) +
                                    ", but the plugin has " + std::to_string(count) + ".");
  }
}

void check_device(const char* function, int32_t device) {
  check_index(function, device);
  if (below.device_open == nullptr) return;
  std::unique_lock lock(devices().lock);
  const bool is_open = devices().open.contains(device);
  lock.unlock();
  if (!is_open) {
    violate(Rule::kDeviceClosed, std::string(function) + " was given device " + std::to_string(device) +
                                     ", which has not been opened.");
  }
}

// ---- what is asked of every answer ----

template <auto Function>
constexpr bool kIsQuery = std::is_same_v<Member<Function>, Member<&R::stream_query>> ||
                          std::is_same_v<Member<Function>, Member<&R::event_query>>;

plug_status check_status(const char* function, plug_status status, bool is_query) {
  const bool is_known = status == PLUG_OK || status == PLUG_UNSUPPORTED ||
                        (is_query && status == PLUG_NOT_READY) ||
                        (status >= PLUG_INVALID && status <= PLUG_INTERNAL);
  if (!is_known) {
    violate(Rule::kStatusUnknown, std::string(function) + " answered with status " + std::to_string(status) +
                                      ", which it does not have.");
  }
  if (status < PLUG_INVALID) return status;
  std::string said = take_plugin_error();
  if (said.empty()) {
    said = note(Rule::kErrorSilent,
                std::string(function) + " failed (" + status_name(status) + ") and told set_error nothing.");
  }
  host->set_error(host, said.c_str());
  return status;
}

// Calls the plugin.
template <auto Function, class... Args>
plug_status ask(Args... args) {
  take_plugin_error();
  return check_status(member_name<Function>(), (below.*Function)(args...), kIsQuery<Function>);
}

// An output in a place of the layer's own: the core's is written only with what has been checked.
template <class T>
class Output {
 public:
  explicit Output(const char* function) : function_(function) {
    std::memset(&value_, kUntouched, sizeof value_);
  }

  T* place() { return &value_; }
  T value() const { return value_; }

  // Whether the plugin has given something.
  bool check(plug_status status) const {
    T untouched;
    std::memset(&untouched, kUntouched, sizeof untouched);
    const bool is_written = std::memcmp(&value_, &untouched, sizeof value_) != 0;
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
  static constexpr int kUntouched = 0x5C;
  const char* function_;
  T value_;
};

// ---- memory in calls ----

void check_tensor(const char* function, const plug_tensor& tensor) {
  constexpr uint32_t kKnown = PLUG_TENSOR_CONJ | PLUG_TENSOR_NEG | PLUG_TENSOR_WRITTEN;
  if (tensor.ndim == -1) return;
  if ((tensor.flags & ~kKnown) != 0) {
    violate(Rule::kFlags,
            std::string(function) + " was given tensor flags " + std::to_string(tensor.flags) + ".");
  }
  if (tensor.layout != 0) return;
  const bool has_shape = tensor.ndim == 0 || (tensor.sizes != nullptr && tensor.strides != nullptr);
  if (tensor.ndim < -1 || !has_shape) {
    violate(Rule::kTensor, std::string(function) + " was given a tensor of " + std::to_string(tensor.ndim) +
                               " dimensions without their sizes.");
    return;
  }
  const Extent extent = extent_of(tensor);
  if (extent.bytes != 0 && tensor.mem.base == nullptr) {
    violate(Rule::kTensor, std::string(function) + " was given a tensor that has elements and no memory.");
    return;
  }
  memory().check_use(function, tensor.mem, extent);
}

// Calls visit(tensor) for every tensor among the values.
template <class Visitor>
void for_each_tensor(const plug_value* values, uint32_t count, Visitor visit) {
  for (uint32_t i = 0; i < count; ++i) {
    const plug_value& value = values[i];
    if (value.tag == PLUG_VALUE_TENSOR) {
      visit(value.as.tensors[0]);
    } else if (value.tag == PLUG_VALUE_TENSORS) {
      for (uint32_t n = 0; n < value.count; ++n) visit(value.as.tensors[n]);
    } else if (value.tag == PLUG_VALUE_LIST) {
      for_each_tensor(value.as.values, value.count, visit);
    }
  }
}

std::string counted(size_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

void list_leaks() {
  const Memory::Count live = memory().live();
  const Memory::Count pinned = memory().pinned();
  if (live.number + pinned.number + order().events() + order().captures() + order().imported_streams() == 0)
    return;
  note(Rule::kLeak, "At the end there are still " + counted(live.number, "allocation") + " (" +
                        counted(live.bytes, "byte") + "), " + counted(pinned.number, "pinned block") + ", " +
                        counted(order().events(), "event") + ", " + counted(order().captures(), "capture") +
                        " and " + counted(order().imported_streams(), "imported stream") + ".");
}

// ---- the functions ----

struct Checks {
  // Those with nothing of their own name a device, or nothing at all.
  template <auto Function, class... Args>
  static plug_status call(Member<Function> /*function*/, int32_t device, Args... args) {
    check_device(member_name<Function>(), device);
    return ask<Function>(device, args...);
  }

  static plug_status call(Member<&R::device_count> /*function*/, int32_t* count) {
    Output<int32_t> output("device_count");
    const plug_status status = ask<&R::device_count>(output.place());
    if (output.check(status)) *count = output.value();
    return status;
  }

  static plug_status call(Member<&R::device_info> /*function*/, int32_t device, plug_device_info* info) {
    check_index("device_info", device);
    return ask<&R::device_info>(device, info);
  }

  static plug_status call(Member<&R::device_open> /*function*/, int32_t device) {
    check_index("device_open", device);
    const plug_status status = ask<&R::device_open>(device);
    if (status == PLUG_OK) {
      std::lock_guard lock(devices().lock);
      devices().open.insert(device);
    }
    return status;
  }

  static plug_status call(Member<&R::device_sync> /*function*/, int32_t device) {
    check_device("device_sync", device);
    const Clock clock = order().device_clock(device);
    const plug_status status = ask<&R::device_sync>(device);
    if (status == PLUG_OK) {
      order().learn("device_sync", clock, /*released=*/true);
      memory().check_red_zones(device);
    }
    return status;
  }

  static plug_status call(Member<&R::shutdown> /*function*/) {
    is_over = true;
    list_leaks();
    return below.shutdown == nullptr ? PLUG_OK : ask<&R::shutdown>();
  }

  // ---- memory ----

  static plug_status call(Member<&R::mem_alloc> /*function*/, int32_t device, uint64_t bytes, void** base) {
    check_device("mem_alloc", device);
    Output<void*> output("mem_alloc");
    const plug_status status = ask<&R::mem_alloc>(device, Memory::with_red_zone(bytes), output.place());
    if (!output.check(status)) return status;
    memory().add(device, output.value(), bytes);
    *base = output.value();
    return status;
  }

  static plug_status call(Member<&R::mem_free> /*function*/, int32_t device, void* base) {
    check_device("mem_free", device);
    memory().check_free("mem_free", device, base);
    const std::string wrong = memory().remove(device, base);
    const plug_status status = ask<&R::mem_free>(device, base);
    if (!wrong.empty()) violate(Rule::kRedZone, wrong);
    return status;
  }

  static plug_status call(Member<&R::mem_info> /*function*/, int32_t device, uint64_t* free_bytes,
                          uint64_t* total_bytes) {
    check_device("mem_info", device);
    Output<uint64_t> free_output("mem_info");
    Output<uint64_t> total_output("mem_info");
    const plug_status status = ask<&R::mem_info>(device, free_output.place(), total_output.place());
    if (free_output.check(status)) *free_bytes = free_output.value();
    if (total_output.check(status)) *total_bytes = total_output.value();
    return status;
  }

  static plug_status call(Member<&R::copy> /*function*/, int32_t device, plug_stream stream,
                          const plug_mem* dst, const plug_mem* src, uint64_t bytes) {
    check_device("copy", device);
    order().check_stream("copy", device, stream);
    memory().check_use("copy", *dst, {0, bytes});
    memory().check_use("copy", *src, {0, bytes});
    const Order::Place place = order().enqueue(device, stream);
    memory().note_use(*dst, place);
    memory().note_use(*src, place);
    return ask<&R::copy>(device, stream, dst, src, bytes);
  }

  static plug_status call(Member<&R::mem_fill> /*function*/, int32_t device, plug_stream stream,
                          const plug_mem* dst, uint8_t byte, uint64_t bytes) {
    check_device("mem_fill", device);
    order().check_stream("mem_fill", device, stream);
    memory().check_use("mem_fill", *dst, {0, bytes});
    memory().note_use(*dst, order().enqueue(device, stream));
    return ask<&R::mem_fill>(device, stream, dst, byte, bytes);
  }

  static plug_status call(Member<&R::copy_strided> /*function*/, int32_t device, plug_stream stream,
                          const plug_tensor* dst, const plug_tensor* src) {
    check_device("copy_strided", device);
    order().check_stream("copy_strided", device, stream);
    check_tensor("copy_strided", *dst);
    check_tensor("copy_strided", *src);
    const Order::Place place = order().enqueue(device, stream);
    memory().note_use(dst->mem, place);
    memory().note_use(src->mem, place);
    return ask<&R::copy_strided>(device, stream, dst, src);
  }

  static plug_status call(Member<&R::peer_access> /*function*/, int32_t device, int32_t peer,
                          int32_t* can_copy) {
    check_index("peer_access", device);
    check_index("peer_access", peer);
    Output<int32_t> output("peer_access");
    const plug_status status = ask<&R::peer_access>(device, peer, output.place());
    if (output.check(status)) *can_copy = output.value();
    return status;
  }

  static plug_status call(Member<&R::host_view> /*function*/, int32_t device, void* base, void** view) {
    check_device("host_view", device);
    memory().check_live("host_view", device, base);
    Output<void*> output("host_view");
    const plug_status status = ask<&R::host_view>(device, base, output.place());
    if (!output.check(status)) return status;
    memory().check_view(device, base, output.value());
    *view = output.value();
    return status;
  }

  static plug_status call(Member<&R::host_alloc> /*function*/, uint64_t bytes, void** base) {
    Output<void*> output("host_alloc");
    const plug_status status = ask<&R::host_alloc>(bytes, output.place());
    if (!output.check(status)) return status;
    memory().add_pinned(output.value(), bytes);
    *base = output.value();
    return status;
  }

  static plug_status call(Member<&R::host_free> /*function*/, void* base) {
    memory().check_pinned(base);
    memory().remove_pinned(base);
    return ask<&R::host_free>(base);
  }

  static plug_status call(Member<&R::mem_reserve> /*function*/, int32_t device, uint64_t bytes, void** base) {
    check_device("mem_reserve", device);
    Output<void*> output("mem_reserve");
    const plug_status status = ask<&R::mem_reserve>(device, bytes, output.place());
    if (!output.check(status)) return status;
    memory().add_reservation(device, output.value(), bytes);
    *base = output.value();
    return status;
  }

  static plug_status call(Member<&R::mem_unreserve> /*function*/, int32_t device, void* base) {
    check_device("mem_unreserve", device);
    memory().check_unreserve(device, base);
    memory().remove(device, base);
    return ask<&R::mem_unreserve>(device, base);
  }

  static plug_status call(Member<&R::mem_map> /*function*/, int32_t device, void* base, uint64_t offset,
                          uint64_t bytes) {
    check_device("mem_map", device);
    memory().check_map("mem_map", device, base, offset, bytes, /*mapped=*/true);
    const plug_status status = ask<&R::mem_map>(device, base, offset, bytes);
    if (status == PLUG_OK) memory().set_mapped(device, base, offset, bytes, /*mapped=*/true);
    return status;
  }

  static plug_status call(Member<&R::mem_unmap> /*function*/, int32_t device, void* base, uint64_t offset,
                          uint64_t bytes) {
    check_device("mem_unmap", device);
    memory().check_map("mem_unmap", device, base, offset, bytes, /*mapped=*/false);
    memory().check_free("mem_unmap", device, base);
    const plug_status status = ask<&R::mem_unmap>(device, base, offset, bytes);
    if (status == PLUG_OK) memory().set_mapped(device, base, offset, bytes, /*mapped=*/false);
    return status;
  }

  // ---- streams ----

  static plug_status call(Member<&R::stream_create> /*function*/, int32_t device, int32_t priority,
                          plug_stream* stream) {
    check_device("stream_create", device);
    Output<plug_stream> output("stream_create");
    const plug_status status = ask<&R::stream_create>(device, priority, output.place());
    if (!output.check(status)) return status;
    order().add_stream(device, output.value(), /*is_imported=*/false);
    *stream = output.value();
    return status;
  }

  static plug_status call(Member<&R::stream_import> /*function*/, int32_t device, void* native,
                          plug_stream* stream) {
    check_device("stream_import", device);
    Output<plug_stream> output("stream_import");
    const plug_status status = ask<&R::stream_import>(device, native, output.place());
    if (!output.check(status)) return status;
    order().add_stream(device, output.value(), /*is_imported=*/true);
    *stream = output.value();
    return status;
  }

  static plug_status call(Member<&R::stream_native> /*function*/, int32_t device, plug_stream stream,
                          void** native) {
    check_device("stream_native", device);
    order().check_stream("stream_native", device, stream);
    return ask<&R::stream_native>(device, stream, native);
  }

  static plug_status call(Member<&R::stream_destroy> /*function*/, int32_t device, plug_stream stream) {
    check_device("stream_destroy", device);
    order().check_stream("stream_destroy", device, stream);
    if (stream == nullptr) violate(Rule::kStreamHandle, "stream_destroy was given the default stream.");
    order().remove_stream(device, stream);
    return ask<&R::stream_destroy>(device, stream);
  }

  static plug_status call(Member<&R::stream_query> /*function*/, int32_t device, plug_stream stream) {
    check_device("stream_query", device);
    order().check_stream("stream_query", device, stream);
    const Clock clock = order().stream_clock(device, stream);
    const plug_status status = ask<&R::stream_query>(device, stream);
    if (status == PLUG_OK) order().learn("stream_query", clock, /*released=*/false);
    return status;
  }

  static plug_status call(Member<&R::stream_sync> /*function*/, int32_t device, plug_stream stream) {
    check_device("stream_sync", device);
    order().check_stream("stream_sync", device, stream);
    const Clock clock = order().stream_clock(device, stream);
    const plug_status status = ask<&R::stream_sync>(device, stream);
    if (status == PLUG_OK) order().learn("stream_sync", clock, /*released=*/true);
    return status;
  }

  static plug_status call(Member<&R::host_func> /*function*/, int32_t device, plug_stream stream,
                          void (*fn)(void*, plug_status), void (*release)(void*), void* arg) {
    check_device("host_func", device);
    order().check_stream("host_func", device, stream);
    TrackedJob* job = order().make_job(device, stream, fn, release, arg);
    const plug_status status =
        ask<&R::host_func>(device, stream, Order::run_job, Order::release_job, static_cast<void*>(job));
    if (status == PLUG_OK) {
      order().job_enqueued(job);
    } else {
      order().job_refused(job);
    }
    return status;
  }

  // ---- events ----

  static plug_status call(Member<&R::event_create> /*function*/, int32_t device, uint32_t flags,
                          plug_event* event) {
    check_device("event_create", device);
    if ((flags & ~uint32_t{PLUG_EVENT_TIMING | PLUG_EVENT_SHARED}) != 0) {
      violate(Rule::kFlags, "event_create was given flags " + std::to_string(flags) + ".");
    }
    Output<plug_event> output("event_create");
    const plug_status status = ask<&R::event_create>(device, flags, output.place());
    if (!output.check(status)) return status;
    order().add_event(device, output.value(), flags, /*is_imported=*/false);
    *event = output.value();
    return status;
  }

  static plug_status call(Member<&R::event_destroy> /*function*/, int32_t device, plug_event event) {
    check_device("event_destroy", device);
    order().check_event("event_destroy", device, event);
    order().remove_event(event);
    return ask<&R::event_destroy>(device, event);
  }

  static plug_status call(Member<&R::event_record> /*function*/, int32_t device, plug_event event,
                          plug_stream stream) {
    check_device("event_record", device);
    order().check_event("event_record", device, event);
    order().check_stream("event_record", device, stream);
    const Clock clock = order().stream_clock(device, stream);
    const plug_status status = ask<&R::event_record>(device, event, stream);
    if (status == PLUG_OK) order().record(event, clock);
    return status;
  }

  static plug_status call(Member<&R::event_wait> /*function*/, int32_t event_device, plug_event event,
                          int32_t stream_device, plug_stream stream) {
    check_device("event_wait", event_device);
    check_device("event_wait", stream_device);
    order().check_event("event_wait", event_device, event);
    order().check_stream("event_wait", stream_device, stream);
    order().wait(event, stream_device, stream);
    return ask<&R::event_wait>(event_device, event, stream_device, stream);
  }

  static plug_status call(Member<&R::event_query> /*function*/, int32_t device, plug_event event) {
    check_device("event_query", device);
    order().check_event("event_query", device, event);
    const Clock clock = order().event_clock(event);
    const bool must_be_ready = order().is_never_recorded(event);
    const plug_status status = ask<&R::event_query>(device, event);
    if (status == PLUG_OK) order().learn("event_query", clock, /*released=*/false);
    if (status == PLUG_NOT_READY && must_be_ready) {
      violate(Rule::kEventNeverRecorded,
              "event_query says that an event that was never recorded is not ready.");
    }
    return status;
  }

  static plug_status call(Member<&R::event_sync> /*function*/, int32_t device, plug_event event) {
    check_device("event_sync", device);
    order().check_event("event_sync", device, event);
    const Clock clock = order().event_clock(event);
    const plug_status status = ask<&R::event_sync>(device, event);
    if (status == PLUG_OK) order().learn("event_sync", clock, /*released=*/false);
    return status;
  }

  static plug_status call(Member<&R::event_elapsed> /*function*/, int32_t device, plug_event start,
                          plug_event end, int64_t* ns) {
    check_device("event_elapsed", device);
    for (plug_event event : {start, end}) {
      order().check_event("event_elapsed", device, event);
      if (!order().is_timed(event)) {
        violate(Rule::kElapsedUntimed, "event_elapsed was given an event made without PLUG_EVENT_TIMING.");
      }
    }
    Output<int64_t> output("event_elapsed");
    const plug_status status = ask<&R::event_elapsed>(device, start, end, output.place());
    if (output.check(status)) *ns = output.value();
    return status;
  }

  // ---- captures ----

  static plug_status call(Member<&R::capture_begin> /*function*/, int32_t device, plug_stream stream,
                          int32_t mode) {
    check_device("capture_begin", device);
    order().check_stream("capture_begin", device, stream);
    order().check_capture_begin(device, stream);
    if (mode < PLUG_CAPTURE_GLOBAL || mode > PLUG_CAPTURE_RELAXED) {
      violate(Rule::kFlags, "capture_begin was given mode " + std::to_string(mode) + ".");
    }
    const plug_status status = ask<&R::capture_begin>(device, stream, mode);
    if (status == PLUG_OK) order().begin_capture(device, stream);
    return status;
  }

  // However it ends, the stream captures no more.
  static plug_status call(Member<&R::capture_end> /*function*/, int32_t device, plug_stream stream,
                          plug_capture* capture) {
    check_device("capture_end", device);
    order().check_capture_end(device, stream);
    Output<plug_capture> output("capture_end");
    const plug_status status = ask<&R::capture_end>(device, stream, output.place());
    order().end_capture(device, stream, status == PLUG_OK ? output.value() : nullptr);
    if (output.check(status)) *capture = output.value();
    return status;
  }

  static plug_status call(Member<&R::capture_replay> /*function*/, int32_t device, plug_capture capture,
                          plug_stream stream) {
    check_device("capture_replay", device);
    order().check_capture("capture_replay", device, capture);
    order().check_stream("capture_replay", device, stream);
    order().enqueue(device, stream);
    return ask<&R::capture_replay>(device, capture, stream);
  }

  static plug_status call(Member<&R::capture_destroy> /*function*/, int32_t device, plug_capture capture) {
    check_device("capture_destroy", device);
    order().check_capture("capture_destroy", device, capture);
    order().remove_capture(capture);
    return ask<&R::capture_destroy>(device, capture);
  }

  // ---- other processes ----

  static plug_status call(Member<&R::ipc_export> /*function*/, int32_t device, void* base, void* handle,
                          uint64_t capacity, uint64_t* bytes, int32_t* fd) {
    check_device("ipc_export", device);
    memory().check_live("ipc_export", device, base);
    return ask<&R::ipc_export>(device, base, handle, capacity, bytes, fd);
  }

  static plug_status call(Member<&R::ipc_import> /*function*/, int32_t device, const void* handle,
                          uint64_t bytes, int32_t fd, void** base) {
    check_device("ipc_import", device);
    Output<void*> output("ipc_import");
    const plug_status status = ask<&R::ipc_import>(device, handle, bytes, fd, output.place());
    if (!output.check(status)) return status;
    memory().add_import(device, output.value());
    *base = output.value();
    return status;
  }

  static plug_status call(Member<&R::ipc_close> /*function*/, int32_t device, void* base) {
    check_device("ipc_close", device);
    memory().check_import(device, base);
    memory().check_free("ipc_close", device, base);
    memory().remove(device, base);
    return ask<&R::ipc_close>(device, base);
  }

  static plug_status call(Member<&R::ipc_export_event> /*function*/, int32_t device, plug_event event,
                          void* handle, uint64_t capacity, uint64_t* bytes, int32_t* fd) {
    check_device("ipc_export_event", device);
    order().check_event("ipc_export_event", device, event);
    return ask<&R::ipc_export_event>(device, event, handle, capacity, bytes, fd);
  }

  static plug_status call(Member<&R::ipc_import_event> /*function*/, int32_t device, const void* handle,
                          uint64_t bytes, int32_t fd, plug_event* event) {
    check_device("ipc_import_event", device);
    Output<plug_event> output("ipc_import_event");
    const plug_status status = ask<&R::ipc_import_event>(device, handle, bytes, fd, output.place());
    if (!output.check(status)) return status;
    order().add_event(device, output.value(), PLUG_EVENT_SHARED, /*is_imported=*/true);
    *event = output.value();
    return status;
  }
};

// ---- kernels ----

plug_status check_kernel(const plug_kernel& kernel, const plug_call& call) {
  check_device(kernel.schema, call.device);
  order().check_stream(kernel.schema, call.device, call.stream);
  const auto check = [&](const plug_tensor& tensor) { check_tensor(kernel.schema, tensor); };
  for_each_tensor(call.args, call.arg_count, check);
  for_each_tensor(call.results, call.result_count, check);
  const Order::Place place = order().enqueue(call.device, call.stream);
  const auto use = [&](const plug_tensor& tensor) { memory().note_use(tensor.mem, place); };
  for_each_tensor(call.args, call.arg_count, use);
  take_plugin_error();
  const plug_status status = kernel.fn(&call);
  // Only now are all results there: some kernels shape theirs.
  for_each_tensor(call.results, call.result_count, use);
  return check_status(kernel.schema, status, /*is_query=*/false);
}

// What every call goes through.
template <class Body>
plug_status guarded(const char* function, Body body) {
  try {
    check_moment(function);
    return body();
  } catch (const Violation& violation) {
    host->set_error(host, violation.what());
    return PLUG_INVALID;
  }
}

struct Validated {
  static constexpr plug_runtime& inner = below;

  template <auto Function, class... Args>
  static plug_status call(Member<Function> function, Args... args) {
    return guarded(member_name<Function>(), [&] { return Checks::call(function, args...); });
  }

  static plug_status call_kernel(const plug_kernel& kernel, const plug_call& call) {
    return guarded(kernel.schema, [&] { return check_kernel(kernel, call); });
  }
};

}  // namespace

// There is always a shutdown to call, so that what is left is listed.
void insert_validate(Module& module) {
  host = &module.host;
  prepare_validation(host);
  insert_layer<Validated>(module.runtime);
  insert_kernel_layer<Validated>(module.kernels);
  module.runtime.shutdown = Entry<Validated, &R::shutdown>::enter;
}

}  // namespace torchplug
