#include "plugin/serialize.h"

#include <chrono>
#include <thread>

namespace torchplug {
namespace {

// There is one device plugin in a process, so one lock and one table behind it.
std::recursive_mutex calls_lock;
plug_runtime inner;

template <auto Member>
struct Locked;

template <class... Args, plug_status (*plug_runtime::*Member)(Args...)>
struct Locked<Member> {
  static plug_status call(Args... args) {
    std::lock_guard lock(calls_lock);
    return (inner.*Member)(args...);
  }
};

template <auto Query, auto Sync>
struct Polled;

template <class Handle, plug_status (*plug_runtime::*Query)(int32_t, Handle),
          plug_status (*plug_runtime::*Sync)(int32_t, Handle)>
struct Polled<Query, Sync> {
  static plug_status call(int32_t device, Handle handle) {
    while (Locked<Query>::call(device, handle) == PLUG_NOT_READY) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return Locked<Sync>::call(device, handle);
  }
};

template <auto... Members>
void lock_members(plug_runtime& table) {
  const auto lock_one = [&table]<auto Member>() {
    if (table.*Member != nullptr) table.*Member = Locked<Member>::call;
  };
  (lock_one.template operator()<Members>(), ...);
}

}  // namespace

void serialize(Module& module) {
  using R = plug_runtime;
  R& table = module.runtime;
  if (table.device_count == Locked<&R::device_count>::call) return;
  inner = table;
  lock_members<&R::device_count, &R::device_info, &R::device_sync, &R::mem_alloc, &R::mem_free, &R::copy,
               &R::device_open, &R::shutdown, &R::stream_create, &R::stream_destroy, &R::stream_query,
               &R::event_create, &R::event_destroy, &R::event_record, &R::event_wait, &R::event_query,
               &R::event_elapsed, &R::mem_info, &R::mem_fill, &R::copy_strided, &R::host_func,
               &R::peer_access, &R::host_view, &R::host_alloc, &R::host_free, &R::capture_begin,
               &R::capture_end, &R::capture_replay, &R::capture_destroy, &R::ipc_export, &R::ipc_import,
               &R::ipc_close, &R::ipc_export_event, &R::ipc_import_event, &R::stream_native,
               &R::stream_import, &R::mem_reserve, &R::mem_unreserve, &R::mem_map, &R::mem_unmap>(table);
  if (module.has_streams()) {
    table.stream_sync = Polled<&R::stream_query, &R::stream_sync>::call;
    table.event_sync = Polled<&R::event_query, &R::event_sync>::call;
  }
}

std::unique_lock<std::recursive_mutex> lock_calls(const Module& module) {
  if ((module.flags & PLUG_SERIALIZE) == 0) return {};
  return std::unique_lock(calls_lock);
}

}  // namespace torchplug
