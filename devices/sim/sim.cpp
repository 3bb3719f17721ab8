// The sim plugin: a CUDA-like device emulated on the CPU, for finding faults in what stands on it.
// Several devices, streams that are threads, and memory that the host cannot touch by accident.
// This file is the table of functions; each says what its arguments are and leaves the rest to the
// concept of its name.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "capture.h"
#include "compiler/compiler.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "handle.h"
#include "kernels.h"
#include "options.h"
#include "pinned.h"
#include "profiler.h"
#include "worker.h"

namespace torchplug::sim {
namespace {

// A worker may wait for an event that never comes; the process ends all the same.
constexpr std::chrono::milliseconds kShutdownLimit{1000};

plug_status get_device_count(std::int32_t* count) {
  *count = device_count();
  return PLUG_OK;
}

plug_status get_device_info(std::int32_t device, plug_device_info* info) {
  return guarded([&] {
    plug_device_info filled = any_device(device).info();
    filled.size = info->size;
    std::memcpy(info, &filled, std::min<std::size_t>(info->size, sizeof filled));
  });
}

plug_status device_sync(std::int32_t device) {
  return guarded([&] {
    const Device& synced = open_device(device);
    refuse_wait_for_device(device);
    synced.synchronize();
  });
}

plug_status device_open(std::int32_t device) {
  return guarded([&] { any_device(device).open(); });
}

plug_status shutdown() {
  return guarded([&] {
    for (std::int32_t i = 0; i < device_count(); ++i) any_device(i).close_streams();
    const int running = wait_for_workers(kShutdownLimit);
    if (running != 0) {
      fail(PLUG_TIMEOUT, running, " streams of sim still have work one second after the end.");
    }
  });
}

plug_status mem_alloc(std::int32_t device, std::uint64_t bytes, void** base) {
  return guarded([&] { *base = open_device(device).arena().allocate(bytes); });
}

plug_status mem_free(std::int32_t device, void* base) {
  return guarded([&] { open_device(device).arena().release(base); });
}

plug_status mem_reserve(std::int32_t device, std::uint64_t bytes, void** base) {
  return guarded([&] { *base = open_device(device).arena().reserve(bytes); });
}

plug_status mem_unreserve(std::int32_t device, void* base) {
  return guarded([&] { open_device(device).arena().unreserve(base); });
}

plug_status mem_map(std::int32_t device, void* base, std::uint64_t offset, std::uint64_t bytes) {
  return guarded([&] { open_device(device).arena().map(base, offset, bytes); });
}

plug_status mem_unmap(std::int32_t device, void* base, std::uint64_t offset, std::uint64_t bytes) {
  return guarded([&] { open_device(device).arena().unmap(base, offset, bytes); });
}

plug_status mem_info(std::int32_t device, std::uint64_t* free_bytes, std::uint64_t* total_bytes) {
  return guarded([&] {
    const Arena& arena = open_device(device).arena();
    *free_bytes = arena.free_bytes();
    *total_bytes = arena.total_bytes();
  });
}

plug_status mem_copy(std::int32_t device, plug_stream stream, const plug_mem* dst, const plug_mem* src,
                     std::uint64_t bytes) {
  return guarded([&] { copy(open_device(device).stream(stream), *dst, *src, bytes); });
}

plug_status mem_copy_strided(std::int32_t device, plug_stream stream, const plug_tensor* dst,
                             const plug_tensor* src) {
  return guarded([&] { return copy_strided(open_device(device).stream(stream), *dst, *src); });
}

plug_status mem_fill(std::int32_t device, plug_stream stream, const plug_mem* dst, std::uint8_t byte,
                     std::uint64_t bytes) {
  return guarded([&] { fill(open_device(device).stream(stream), *dst, byte, bytes); });
}

plug_status stream_create(std::int32_t device, std::int32_t priority, plug_stream* stream) {
  return guarded([&] { *stream = open_device(device).create_stream(priority); });
}

plug_status stream_destroy(std::int32_t device, plug_stream stream) {
  return guarded([&] { open_device(device).destroy_stream(stream); });
}

plug_status stream_query(std::int32_t device, plug_stream stream) {
  return guarded([&]() -> plug_status {
    const Stream& asked = open_device(device).stream(stream);
    if (const auto capture = asked.capture()) capture->refuse("querying its stream");
    return asked.is_idle() ? PLUG_OK : PLUG_NOT_READY;
  });
}

plug_status stream_sync(std::int32_t device, plug_stream stream) {
  return guarded([&] {
    const Stream& awaited = open_device(device).stream(stream);
    if (const auto capture = awaited.capture()) capture->refuse("waiting for its stream");
    awaited.synchronize();
  });
}

plug_status event_create(std::int32_t device, std::uint32_t flags, plug_event* event) {
  return guarded([&] { *event = open_device(device).create_event(flags); });
}

plug_status event_destroy(std::int32_t device, plug_event event) {
  return guarded([&] { open_device(device).destroy_event(event); });
}

plug_status event_record(std::int32_t device, plug_event event, plug_stream stream) {
  return guarded([&] {
    const Device& owner = open_device(device);
    owner.event(event).record(owner.stream(stream));
  });
}

plug_status event_wait(std::int32_t event_device, plug_event event, std::int32_t stream_device,
                       plug_stream stream) {
  return guarded([&] {
    Event& awaited = open_device(event_device).event(event);
    awaited.make_wait(open_device(stream_device).stream(stream), stream_device);
  });
}

plug_status event_query(std::int32_t device, plug_event event) {
  return guarded([&]() -> plug_status {
    return open_device(device).event(event).is_reached() ? PLUG_OK : PLUG_NOT_READY;
  });
}

plug_status event_sync(std::int32_t device, plug_event event) {
  return guarded([&] { open_device(device).event(event).wait(); });
}

// One clock serves every device, so the events may be of different ones.
plug_status event_elapsed(std::int32_t device, plug_event start, plug_event end, std::int64_t* ns) {
  return guarded([&]() -> plug_status {
    open_device(device);
    if (!start->event->timing() || !end->event->timing()) {
      fail(PLUG_INVALID, "An event was made without PLUG_EVENT_TIMING and has no time.");
    }
    const auto from = start->event->time();
    const auto to = end->event->time();
    if (!from || !to) fail(PLUG_INVALID, "An event has not been recorded, or is not ready.");
    *ns = *to - *from;
    return PLUG_OK;
  });
}

// No work of this device fails once enqueued, so fn always learns PLUG_OK.
struct HostFunction {
  void (*fn)(void*, plug_status);
  void (*done)(void*);
  void* arg;

  void operator()() const noexcept { fn(arg, PLUG_OK); }
  void release() const noexcept { done(arg); }
};

// Where this fails, neither function is called and arg stays the caller's.
plug_status host_func(std::int32_t device, plug_stream stream, void (*fn)(void*, plug_status),
                      void (*release)(void*), void* arg) {
  return guarded([&] {
    enqueue(open_device(device).stream(stream), {.kind = PLUG_RECORD_HOST}, HostFunction{fn, release, arg});
  });
}

plug_status peer_access(std::int32_t device, std::int32_t peer, std::int32_t* can_copy) {
  return guarded([&] {
    any_device(device);
    any_device(peer);
    *can_copy = 1;
  });
}

plug_status host_view(std::int32_t device, void* base, void** view) {
  return guarded([&] {
    const Device& owner = open_device(device);
    std::byte* const imported = owner.imports().view(base);
    *view = imported != nullptr ? imported : owner.arena().view(base);
  });
}

plug_status host_alloc(std::uint64_t bytes, void** base) {
  return guarded([&] { *base = allocate_pinned(bytes); });
}

plug_status host_free(void* base) {
  return guarded([&] { release_pinned(base); });
}

plug_status capture_begin(std::int32_t device, plug_stream stream, std::int32_t mode) {
  return guarded([&] { Capture::begin(open_device(device).stream(stream), device, mode); });
}

plug_status capture_end(std::int32_t device, plug_stream stream, plug_capture* capture) {
  return guarded([&] {
    auto ended = Capture::end(open_device(device).stream(stream));
    *capture = std::make_unique<plug_capture_s>(plug_capture_s{std::move(ended)}).release();
  });
}

plug_status capture_replay(std::int32_t device, plug_capture capture, plug_stream stream) {
  return guarded([&] { capture->capture->replay(open_device(device).stream(stream)); });
}

plug_status capture_destroy(std::int32_t device, plug_capture capture) {
  return guarded([&] {
    open_device(device);
    const std::unique_ptr<plug_capture_s> owned(capture);
  });
}

plug_status stream_native(std::int32_t device, plug_stream stream, void** native) {
  return guarded([&] { *native = open_device(device).native_stream(stream); });
}

plug_status stream_import(std::int32_t device, void* native, plug_stream* stream) {
  return guarded([&] { *stream = open_device(device).import_stream(native); });
}

plug_status ipc_export(std::int32_t device, void* base, void* handle, std::uint64_t capacity,
                       std::uint64_t* bytes, std::int32_t* fd) {
  return guarded([&] {
    const Arena& arena = open_device(device).arena();
    const Arena::Place place = arena.place_of(base);
    *bytes = write_handle({HandleKind::kMemory, device, place.offset, place.bytes}, handle, capacity);
    *fd = arena.file().duplicate();
  });
}

plug_status ipc_import(std::int32_t device, const void* handle, std::uint64_t bytes, std::int32_t fd,
                       void** base) {
  return guarded([&] {
    const Handle given = read_handle(HandleKind::kMemory, device, handle, bytes);
    *base = open_device(device).imports().add(fd, given.offset, given.bytes);
  });
}

plug_status ipc_close(std::int32_t device, void* base) {
  return guarded([&] { open_device(device).imports().remove(base); });
}

plug_status ipc_export_event(std::int32_t device, plug_event event, void* handle, std::uint64_t capacity,
                             std::uint64_t* bytes, std::int32_t* fd) {
  return guarded([&] {
    const SharedRecords* shared = open_device(device).event(event).shared();
    if (shared == nullptr) fail(PLUG_INVALID, "The event was made without PLUG_EVENT_SHARED.");
    *bytes = write_handle({HandleKind::kEvent, device, 0, 0}, handle, capacity);
    *fd = shared->file().duplicate();
  });
}

plug_status ipc_import_event(std::int32_t device, const void* handle, std::uint64_t bytes, std::int32_t fd,
                             plug_event* event) {
  return guarded([&] {
    read_handle(HandleKind::kEvent, device, handle, bytes);
    *event = open_device(device).import_event(fd);
  });
}

constexpr plug_runtime kRuntime = {
    .size = sizeof(plug_runtime),
    .device_count = get_device_count,
    .device_info = get_device_info,
    .device_sync = device_sync,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .copy = mem_copy,
    .device_open = device_open,
    .shutdown = shutdown,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_sync = stream_sync,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_query,
    .event_sync = event_sync,
    .event_elapsed = event_elapsed,
    .mem_info = mem_info,
    .mem_fill = mem_fill,
    .copy_strided = mem_copy_strided,
    .host_func = host_func,
    .peer_access = peer_access,
    .host_view = host_view,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .capture_replay = capture_replay,
    .capture_destroy = capture_destroy,
    .ipc_export = ipc_export,
    .ipc_import = ipc_import,
    .ipc_close = ipc_close,
    .ipc_export_event = ipc_export_event,
    .ipc_import_event = ipc_import_event,
    .stream_native = stream_native,
    .stream_import = stream_import,
    .mem_reserve = mem_reserve,
    .mem_unreserve = mem_unreserve,
    .mem_map = mem_map,
    .mem_unmap = mem_unmap,
};

plug_compiler the_compiler;

constinit plug_module the_module = {
    .size = sizeof(plug_module),
    .abi_minor = PLUG_ABI_MINOR,
    .name = "sim",
    .version = "0.1",
    .runtime = &kRuntime,
    .profiler = &kProfiler,
};

// What the host sees of the device when it is to record and replay streams itself.
constexpr plug_runtime kRuntimeWithoutCapture = [] {
  plug_runtime runtime = kRuntime;
  runtime.capture_begin = nullptr;
  runtime.capture_end = nullptr;
  runtime.capture_replay = nullptr;
  runtime.capture_destroy = nullptr;
  return runtime;
}();

}  // namespace
}  // namespace torchplug::sim

plug_status torchplug_plugin_v0(const plug_host* host, const plug_module** module) {
  using namespace torchplug::sim;
  plug::host = host;
  return guarded([&] {
    const Options options = read_options(*host);
    the_module.profiler = options.profiler ? &kProfiler : nullptr;
    the_module.runtime = options.captures ? &kRuntime : &kRuntimeWithoutCapture;
    const plug_kernels& kernels = options.any ? kKernelsAndAny : kKernels;
    the_module.kernels = options.kernels ? &kernels : nullptr;
    the_compiler = compiler::make_compiler(options);
    the_module.compiler = options.compiler != CompilerMode::kOff ? &the_compiler : nullptr;
    make_devices(options);
    *module = &the_module;
  });
}
