#pragma once
// The functions of one plugin's plug_runtime as the core calls them: its own, or what layers have put before
// them (plugin/layer.h). Belongs to a Module and does not change once that is in use; any thread may call.

#include <array>

#include "plugin/members.h"

namespace torchplug::plugin {

class Runtime {
 public:
  Runtime() = default;
  // The plugin's own functions.
  explicit Runtime(const plug_runtime& table);

  template <auto Function>
  bool has() const noexcept {
    return slots_[kMemberIndex<Function>].enter != nullptr;
  }

  // Only for a function that there is.
  template <auto Function, class... Args>
  plug_status call(Args... args) const {
    return Caller<Function>::call(slots_[kMemberIndex<Function>], args...);
  }

  // From now on layer.call(Member<Function>{}, args...) is called instead. The layer lives for ever.
  template <auto Function, class Layer>
  void replace(Layer& layer) {
    Slot& slot = slots_[kMemberIndex<Function>];
    slot.context = &layer;
    slot.enter = reinterpret_cast<AnyFunction>(&Caller<Function>::template enter<Layer>);
  }

 private:
  using AnyFunction = void (*)();

  struct Slot {
    void* context = nullptr;  // the plugin's function itself, or a layer
    AnyFunction enter = nullptr;
  };

  template <auto Function>
  struct Caller;

  std::array<Slot, kMemberCount> slots_{};
};

template <class... Args, plug_status (*plug_runtime::*Function)(Args...)>
struct Runtime::Caller<Function> {
  static plug_status call(const Slot& slot, Args... args) {
    return reinterpret_cast<plug_status (*)(void*, Args...)>(slot.enter)(slot.context, args...);
  }
  static plug_status enter_plugin(void* context, Args... args) {
    return reinterpret_cast<plug_status (*)(Args...)>(context)(args...);
  }
  template <class Layer>
  static plug_status enter(void* context, Args... args) {
    return static_cast<Layer*>(context)->call(Member<Function>{}, args...);
  }
};

inline Runtime::Runtime(const plug_runtime& table) {
  for_each_member([&]<auto Function>(const char* /*name*/, Group /*group*/) {
    if (table.*Function == nullptr) return;
    slots_[kMemberIndex<Function>] = {reinterpret_cast<void*>(table.*Function),
                                      reinterpret_cast<AnyFunction>(&Caller<Function>::enter_plugin)};
  });
}

}  // namespace torchplug::plugin
