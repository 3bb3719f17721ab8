#pragma once
// How a layer stands between the core and a plugin: it takes the place of functions and hands on, to what
// lies below it, what it lets pass. A layer that is not asked for costs nothing.
//
// A layer is an object that lives for ever, one for each module it is put around. It keeps the Runtime below
// it, and has overloads of `call`, of which the first serves the functions that have none of their own:
//     template <auto Function, class... Args>
//     plug_status call(Member<Function>, Args... args);
//     plug_status call(Member<&plug_runtime::copy>, int32_t device, ...);

#include <memory>

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
// one expects it; so do layer.call_prepare(kernel, call, state) and layer.call_forget(kernel, state), of a
// layer that has them. Of an engine's kernel it is layer.call_engine(kernel, call, engine).
template <class Layer>
class WrappedKernel {
 public:
  static void wrap(plug_kernel& kernel, Layer& layer) {
    immortal<WrappedKernel>(layer, kernel, EngineKernel{})->take_place_of(kernel);
  }
  // It lives as long as the engine.
  static std::shared_ptr<void> wrap(plug_kernel& kernel, Layer& layer, const EngineKernel& engine) {
    auto wrapped = std::make_shared<WrappedKernel>(layer, kernel, engine);
    wrapped->take_place_of(kernel);
    return wrapped;
  }

  WrappedKernel(Layer& layer, const plug_kernel& below, const EngineKernel& engine)
      : layer_(layer), below_(below), engine_(engine) {}

 private:
  void take_place_of(plug_kernel& kernel) const {
    kernel.user = this;
    kernel.fn = [](const plug_call* call) {
      const WrappedKernel& self = of(*call);
      if (self.engine_.engine != nullptr)
        return self.layer_.call_engine(self.below_, inside(*call), self.engine_);
      return self.layer_.call_kernel(self.below_, inside(*call));
    };
    if (kernel.prepare != nullptr) {
      kernel.prepare = prepare;
      if constexpr (kSeesStates) kernel.forget = forget;
    }
    if (kernel.shape != nullptr) {
      kernel.shape = [](const plug_call* call) {
        const plug_call below = inside(*call);
        return of(*call).below_.shape(&below);
      };
    }
  }

  static constexpr bool kSeesStates =
      requires(Layer& layer, const plug_kernel& kernel, void* state) { layer.call_forget(kernel, state); };

  // A state of the kernel's below, with the kernel: `forget` is told nothing else.
  struct Kept {
    const WrappedKernel& wrapped;
    void* state;
  };

  static const WrappedKernel& of(const plug_call& call) {
    return *static_cast<const WrappedKernel*>(call.user);
  }

  static plug_call inside(const plug_call& call) {
    plug_call inside = call;
    inside.user = of(call).below_.user;
    if constexpr (kSeesStates) {
      if (call.state != nullptr) inside.state = static_cast<Kept*>(call.state)->state;
    }
    return inside;
  }

  static plug_status prepare(const plug_call* call, void** state) {
    const WrappedKernel& wrapped = of(*call);
    const plug_call below = inside(*call);
    if constexpr (kSeesStates) {
      void* kept = nullptr;
      const plug_status status = wrapped.layer_.call_prepare(wrapped.below_, below, &kept);
      if (status == PLUG_OK && kept != nullptr)
        *state = std::make_unique<Kept>(Kept{wrapped, kept}).release();
      return status;
    } else {
      return wrapped.below_.prepare(&below, state);
    }
  }

  static void forget(void* state) {
    const std::unique_ptr<Kept> kept(static_cast<Kept*>(state));
    kept->wrapped.layer_.call_forget(kept->wrapped.below_, kept->state);
  }

  Layer& layer_;
  plug_kernel below_;
  EngineKernel engine_;  // none: an operator's kernel
};

// Puts the layer around every kernel of the module, and around those of engines to come.
template <class Layer>
void insert_kernel_layer(Module& module, Layer& layer) {
  for (plug_kernel& kernel : module.kernels) WrappedKernel<Layer>::wrap(kernel, layer);
  if (module.any) WrappedKernel<Layer>::wrap(*module.any, layer);
  module.engine_layers.emplace_back([&layer](plug_kernel& kernel, const EngineKernel& engine) {
    return WrappedKernel<Layer>::wrap(kernel, layer, engine);
  });
}

// Puts layer.call_compiler(name, below, args...) before every function of the compiler that there is.
template <class Layer>
void insert_compiler_layer(Module& module, Layer& layer) {
  const auto insert = [&]<class... Args>(const char* name, std::function<plug_status(Args...)>& function) {
    if (function == nullptr) return;
    function = [name, &layer, below = std::move(function)](Args... args) {
      return layer.call_compiler(name, below, args...);
    };
  };
  CompilerCalls::for_each(module.compiler_calls, insert);
}

}  // namespace torchplug::plugin
