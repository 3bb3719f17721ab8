// The sim plugin: a CUDA-like device emulated on the CPU, for finding faults in what stands on it.
// Several devices, streams that are threads, and memory that the host cannot touch by accident.
// This file is the table of functions; each says what its arguments are and leaves the rest to the
// concept of its name.

#include <algorithm>
#include <chrono>
#include <cstring>

#include "copy.h"
#include "device.h"
#include "error.h"
#include "kernels.h"
#include "options.h"
#include "pinned.h"
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
  return guarded([&] { open_device(device).synchronize(); });
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
    return open_device(device).stream(stream).is_idle() ? PLUG_OK : PLUG_NOT_READY;
  });
}

plug_status stream_sync(std::int32_t device, plug_stream stream) {
  return guarded([&] { open_device(device).stream(stream).synchronize(); });
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
    awaited.make_wait(open_device(stream_device).stream(stream));
  });
}

plug_status event_query(std::int32_t device, plug_event event) {
  return guarded([&]() -> plug_status {
    return open_device(device).event(event).latest().reached() ? PLUG_OK : PLUG_NOT_READY;
  });
}

plug_status event_sync(std::int32_t device, plug_event event) {
  return guarded([&] { open_device(device).event(event).latest().wait(); });
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

// No work of this device fails once enqueued, so fn always learns PLUG_OK. Where this fails,
// neither function is called and arg stays the caller's.
plug_status host_func(std::int32_t device, plug_stream stream, void (*fn)(void*, plug_status),
                      void (*release)(void*), void* arg) {
  return guarded([&] {
    open_device(device).stream(stream).enqueue([fn, release, arg]() noexcept {
      fn(arg, PLUG_OK);
      release(arg);
    });
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
  return guarded([&] { *view = open_device(device).arena().view(base); });
}

plug_status host_alloc(std::uint64_t bytes, void** base) {
  return guarded([&] { *base = allocate_pinned(bytes); });
}

plug_status host_free(void* base) {
  return guarded([&] { release_pinned(base); });
}

constexpr plug_runtime kRuntime = {
    .size = sizeof(plug_runtime),
    .reserved = 0,
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
    .capture_begin = nullptr,
    .capture_end = nullptr,
    .capture_replay = nullptr,
    .capture_destroy = nullptr,
    .ipc_export = nullptr,
    .ipc_import = nullptr,
    .ipc_close = nullptr,
    .ipc_export_event = nullptr,
    .ipc_import_event = nullptr,
    .stream_native = nullptr,
    .stream_import = nullptr,
    .mem_reserve = mem_reserve,
    .mem_unreserve = mem_unreserve,
    .mem_map = mem_map,
    .mem_unmap = mem_unmap,
};

constexpr plug_module kModule = {
    .size = sizeof(plug_module),
    .abi_minor = PLUG_ABI_MINOR,
    .name = "sim",
    .version = "0.1",
    .flags = 0,
    .runtime = &kRuntime,
    .kernels = &kKernels,
    .extension = nullptr,
    .profiler = nullptr,
};

}  // namespace
}  // namespace torchplug::sim

plug_status torchplug_plugin_v0(const plug_host* host, const plug_module** module) {
  using namespace torchplug::sim;
  set_host(host);
  return guarded([&] {
    make_devices(read_options(*host));
    *module = &kModule;
  });
}
