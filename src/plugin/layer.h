#pragma once
// How a layer stands between the core and a plugin: it takes the place of functions and hands on, to what
// lies below it, what it lets pass. A layer that is not asked for costs nothing.
//
// A layer is an object that lives for ever, one for each module it is put around. It keeps the Runtime below
// it, and has overloads of `call`, of which the first serves the functions that have none of their own:
//     template <auto Function, class... Args>
//     plug_status call(Member<Function>, Args... args);
//     plug_status call(Member<&plug_runtime::copy>, int32_t device, ...);

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

// Puts the layer around a kernel: layer.call_kernel(kernel, call) gets the kernel below, and the call as that
// one expects it.
template <class Layer>
class WrappedKernel {
 public:
  static void wrap(plug_kernel& kernel, Layer& layer) {
    kernel.user = immortal<WrappedKernel>(layer, kernel);
    kernel.fn = [](const plug_call* call) {
      const WrappedKernel& wrapped = of(*call);
      return wrapped.layer_.call_kernel(wrapped.below_, wrapped.inside(*call));
    };
    if (kernel.prepare != nullptr) {
      kernel.prepare = [](const plug_call* call, void** state) {
        const plug_call inside = of(*call).inside(*call);
        return of(*call).below_.prepare(&inside, state);
      };
    }
    if (kernel.shape != nullptr) {
      kernel.shape = [](const plug_call* call) {
        const plug_call inside = of(*call).inside(*call);
        return of(*call).below_.shape(&inside);
      };
    }
  }

  WrappedKernel(Layer& layer, const plug_kernel& below) : layer_(layer), below_(below) {}

 private:
  static const WrappedKernel& of(const plug_call& call) {
    return *static_cast<const WrappedKernel*>(call.user);
  }
  plug_call inside(const plug_call& call) const {
    plug_call inside = call;
    inside.user = below_.user;
    return inside;
  }

  Layer& layer_;
  plug_kernel below_;
};

// Puts the layer around every kernel of the module.
template <class Layer>
void insert_kernel_layer(Module& module, Layer& layer) {
  for (plug_kernel& kernel : module.kernels) WrappedKernel<Layer>::wrap(kernel, layer);
  if (module.any) WrappedKernel<Layer>::wrap(*module.any, layer);
}

}  // namespace torchplug::plugin
