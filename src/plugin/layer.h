#pragma once
// How a layer stands between the core and a plugin: it takes the place of functions and hands on, to what
// lies below it, what it lets pass. A layer that is not asked for costs nothing.
//
// A layer is an object that lives for ever, one for each module it is put around. It keeps the Runtime below
// it, and has overloads of `call`, of which the first serves the functions that have none of their own:
//     template <auto Function, class... Args>
//     plug_status call(Member<Function>, Args... args);
//     plug_status call(Member<&plug_runtime::copy>, int32_t device, ...);

#include <vector>

#include "base/immortal.h"
#include "plugin/module.h"

namespace torchplug::plugin {

// Puts the layer around every function there is; what is absent stays absent.
template <class Layer>
void insert_layer(Runtime& runtime, Layer& layer) {
  for_each_member([&]<auto Function>(const char* /*name*/, Group /*group*/) {
    if (runtime.has<Function>()) runtime.replace<Function>(layer);
  });
}

// Puts the layer around every kernel: layer.call_kernel(kernel, call) gets the kernel below, and the call as
// that one expects it.
template <class Layer>
void insert_kernel_layer(std::vector<plug_kernel>& kernels, Layer& layer) {
  struct Wrapped {
    Layer& layer;
    plug_kernel below;
  };
  for (plug_kernel& kernel : kernels) {
    kernel.user = immortal<Wrapped>(Wrapped{layer, kernel});
    kernel.fn = [](const plug_call* call) {
      const auto& wrapped = *static_cast<const Wrapped*>(call->user);
      plug_call inside = *call;
      inside.user = wrapped.below.user;
      return wrapped.layer.call_kernel(wrapped.below, inside);
    };
  }
}

}  // namespace torchplug::plugin
