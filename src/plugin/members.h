#pragma once
// Every function of plug_runtime, once: what loading, capabilities, layers and checks are made of. One that
// is forgotten here does not compile.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::plugin {

// Which functions stand together. A group is complete or empty; kMandatory is complete.
enum class Group : uint8_t { kMandatory, kAlone, kStreams, kPinned, kCapture, kIpc, kGrowth, kHostMap };

// Stands for one function of plug_runtime, as an argument: layers have one overload for each they care about.
template <auto Function>
struct Member {};

// Calls visit.operator()<&plug_runtime::f>("f", its group) for every function f, in plug.h's order.
template <class Visitor>
constexpr void for_each_member(Visitor visit) {
  using R = plug_runtime;
  visit.template operator()<&R::device_count>("device_count", Group::kMandatory);
  visit.template operator()<&R::device_info>("device_info", Group::kMandatory);
  visit.template operator()<&R::device_sync>("device_sync", Group::kMandatory);
  visit.template operator()<&R::mem_alloc>("mem_alloc", Group::kMandatory);
  visit.template operator()<&R::mem_free>("mem_free", Group::kMandatory);
  visit.template operator()<&R::copy>("copy", Group::kMandatory);
  visit.template operator()<&R::device_open>("device_open", Group::kAlone);
  visit.template operator()<&R::shutdown>("shutdown", Group::kAlone);
  visit.template operator()<&R::stream_create>("stream_create", Group::kStreams);
  visit.template operator()<&R::stream_destroy>("stream_destroy", Group::kStreams);
  visit.template operator()<&R::stream_query>("stream_query", Group::kStreams);
  visit.template operator()<&R::stream_sync>("stream_sync", Group::kStreams);
  visit.template operator()<&R::event_create>("event_create", Group::kStreams);
  visit.template operator()<&R::event_destroy>("event_destroy", Group::kStreams);
  visit.template operator()<&R::event_record>("event_record", Group::kStreams);
  visit.template operator()<&R::event_wait>("event_wait", Group::kStreams);
  visit.template operator()<&R::event_query>("event_query", Group::kStreams);
  visit.template operator()<&R::event_sync>("event_sync", Group::kStreams);
  visit.template operator()<&R::event_elapsed>("event_elapsed", Group::kAlone);
  visit.template operator()<&R::mem_info>("mem_info", Group::kAlone);
  visit.template operator()<&R::mem_fill>("mem_fill", Group::kAlone);
  visit.template operator()<&R::copy_strided>("copy_strided", Group::kAlone);
  visit.template operator()<&R::host_func>("host_func", Group::kAlone);
  visit.template operator()<&R::peer_access>("peer_access", Group::kAlone);
  visit.template operator()<&R::host_view>("host_view", Group::kAlone);
  visit.template operator()<&R::host_alloc>("host_alloc", Group::kPinned);
  visit.template operator()<&R::host_free>("host_free", Group::kPinned);
  visit.template operator()<&R::capture_begin>("capture_begin", Group::kCapture);
  visit.template operator()<&R::capture_end>("capture_end", Group::kCapture);
  visit.template operator()<&R::capture_replay>("capture_replay", Group::kCapture);
  visit.template operator()<&R::capture_destroy>("capture_destroy", Group::kCapture);
  visit.template operator()<&R::ipc_export>("ipc_export", Group::kIpc);
  visit.template operator()<&R::ipc_import>("ipc_import", Group::kIpc);
  visit.template operator()<&R::ipc_close>("ipc_close", Group::kIpc);
  visit.template operator()<&R::ipc_export_event>("ipc_export_event", Group::kIpc);
  visit.template operator()<&R::ipc_import_event>("ipc_import_event", Group::kIpc);
  visit.template operator()<&R::stream_native>("stream_native", Group::kAlone);
  visit.template operator()<&R::stream_import>("stream_import", Group::kAlone);
  visit.template operator()<&R::mem_reserve>("mem_reserve", Group::kGrowth);
  visit.template operator()<&R::mem_unreserve>("mem_unreserve", Group::kGrowth);
  visit.template operator()<&R::mem_map>("mem_map", Group::kGrowth);
  visit.template operator()<&R::mem_unmap>("mem_unmap", Group::kGrowth);
  visit.template operator()<&R::host_map>("host_map", Group::kHostMap);
  visit.template operator()<&R::host_unmap>("host_unmap", Group::kHostMap);
  visit.template operator()<&R::host_pinned>("host_pinned", Group::kAlone);
}

inline constexpr size_t kMemberCount = [] {
  size_t count = 0;
  for_each_member([&count]<auto Function>(const char* /*name*/, Group /*group*/) { ++count; });
  return count;
}();

// Where the function stands in the list.
template <auto Wanted>
inline constexpr size_t kMemberIndex = [] {
  size_t index = 0;
  size_t found = kMemberCount;
  for_each_member([&]<auto Function>(const char* /*name*/, Group /*group*/) {
    if constexpr (std::is_same_v<Member<Function>, Member<Wanted>>) found = index;
    ++index;
  });
  return found;
}();

// What plug.h calls it.
template <auto Wanted>
inline constexpr const char* kMemberName = [] {
  const char* found = "";
  for_each_member([&]<auto Function>(const char* name, Group /*group*/) {
    if constexpr (std::is_same_v<Member<Function>, Member<Wanted>>) found = name;
  });
  return found;
}();

namespace detail {

// Whether the list names each function once.
constexpr bool lists_every_function_once() {
  bool once = true;
  size_t index = 0;
  for_each_member([&]<auto Function>(const char* /*name*/, Group /*group*/) {
    once = once && kMemberIndex<Function> == index;
    ++index;
  });
  return once &&
         offsetof(plug_runtime, device_count) + kMemberCount * sizeof(void (*)()) == sizeof(plug_runtime);
}
static_assert(lists_every_function_once(),
              "plug_runtime has a function that for_each_member does not name once");

}  // namespace detail

}  // namespace torchplug::plugin
