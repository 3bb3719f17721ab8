#pragma once
// How a layer stands between the core and a plugin: it takes the place of the functions in an adopted table
// and hands on, to what lies below it, what it lets pass. A layer that is not asked for costs nothing.
//
// A layer is a struct with `static plug_runtime inner`, where what lies below is kept, and overloads of
// `call`, of which the first below serves the functions that have none of their own:
//     template <auto Function, class... Args>
//     static plug_status call(Member<Function>, Args... args);
//     static plug_status call(Member<&plug_runtime::copy>, int32_t device, ...);
// A process has one device plugin, so a layer has one place, and its state is static too.

#include <type_traits>
#include <vector>

#include "base/immortal.h"
#include "plugin/module.h"

namespace torchplug::plugin {

// Stands for one function of plug_runtime.
template <auto Function>
struct Member {};

// Calls visit.operator()<&plug_runtime::f>("f") for every function f.
template <class Visitor>
void for_each_member(Visitor visit) {
  using R = plug_runtime;
  visit.template operator()<&R::device_count>("device_count");
  visit.template operator()<&R::device_info>("device_info");
  visit.template operator()<&R::device_sync>("device_sync");
  visit.template operator()<&R::mem_alloc>("mem_alloc");
  visit.template operator()<&R::mem_free>("mem_free");
  visit.template operator()<&R::copy>("copy");
  visit.template operator()<&R::device_open>("device_open");
  visit.template operator()<&R::shutdown>("shutdown");
  visit.template operator()<&R::stream_create>("stream_create");
  visit.template operator()<&R::stream_destroy>("stream_destroy");
  visit.template operator()<&R::stream_query>("stream_query");
  visit.template operator()<&R::stream_sync>("stream_sync");
  visit.template operator()<&R::event_create>("event_create");
  visit.template operator()<&R::event_destroy>("event_destroy");
  visit.template operator()<&R::event_record>("event_record");
  visit.template operator()<&R::event_wait>("event_wait");
  visit.template operator()<&R::event_query>("event_query");
  visit.template operator()<&R::event_sync>("event_sync");
  visit.template operator()<&R::event_elapsed>("event_elapsed");
  visit.template operator()<&R::mem_info>("mem_info");
  visit.template operator()<&R::mem_fill>("mem_fill");
  visit.template operator()<&R::copy_strided>("copy_strided");
  visit.template operator()<&R::host_func>("host_func");
  visit.template operator()<&R::peer_access>("peer_access");
  visit.template operator()<&R::host_view>("host_view");
  visit.template operator()<&R::host_alloc>("host_alloc");
  visit.template operator()<&R::host_free>("host_free");
  visit.template operator()<&R::capture_begin>("capture_begin");
  visit.template operator()<&R::capture_end>("capture_end");
  visit.template operator()<&R::capture_replay>("capture_replay");
  visit.template operator()<&R::capture_destroy>("capture_destroy");
  visit.template operator()<&R::ipc_export>("ipc_export");
  visit.template operator()<&R::ipc_import>("ipc_import");
  visit.template operator()<&R::ipc_close>("ipc_close");
  visit.template operator()<&R::ipc_export_event>("ipc_export_event");
  visit.template operator()<&R::ipc_import_event>("ipc_import_event");
  visit.template operator()<&R::stream_native>("stream_native");
  visit.template operator()<&R::stream_import>("stream_import");
  visit.template operator()<&R::mem_reserve>("mem_reserve");
  visit.template operator()<&R::mem_unreserve>("mem_unreserve");
  visit.template operator()<&R::mem_map>("mem_map");
  visit.template operator()<&R::mem_unmap>("mem_unmap");
}

// What plug.h calls the function.
template <auto Wanted>
const char* member_name() {
  static const char* const name = [] {
    const char* found = "";
    for_each_member([&found]<auto Function>(const char* called) {
      if constexpr (std::is_same_v<Member<Function>, Member<Wanted>>) found = called;
    });
    return found;
  }();
  return name;
}

// The function that takes the place of another in the table.
template <class Layer, auto Function>
struct Entry;

template <class Layer, class... Args, plug_status (*plug_runtime::*Function)(Args...)>
struct Entry<Layer, Function> {
  static plug_status enter(Args... args) { return Layer::call(Member<Function>{}, args...); }
};

// Puts the layer around what `table` holds; what is absent stays absent.
template <class Layer>
void insert_layer(plug_runtime& table) {
  Layer::inner = table;
  for_each_member([&table]<auto Function>(const char* /*name*/) {
    if (table.*Function != nullptr) table.*Function = Entry<Layer, Function>::enter;
  });
}

// Likewise around kernels: Layer::call_kernel(kernel, call) gets the kernel below, and the call as that one
// expects it.
template <class Layer>
void insert_kernel_layer(std::vector<plug_kernel>& kernels) {
  for (plug_kernel& kernel : kernels) {
    kernel.user = immortal<plug_kernel>(kernel);
    kernel.fn = [](const plug_call* call) {
      const auto& below = *static_cast<const plug_kernel*>(call->user);
      plug_call inside = *call;
      inside.user = below.user;
      return Layer::call_kernel(below, inside);
    };
  }
}

}  // namespace torchplug::plugin
