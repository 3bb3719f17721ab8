#pragma once
// A plug_runtime of plain C functions behind which stands a Runtime, layers included: for those outside of
// the core who are to call the plugin as plug.h says. C functions know nothing but their arguments, so there
// is one table for each Tag.

#include "plugin/runtime.h"

namespace torchplug::pytorch {

template <class Tag>
class PlainTable {
 public:
  // The table of `runtime`, which lives for ever.
  static const plug_runtime& of(const plugin::Runtime& runtime) {
    below = &runtime;
    table.size = sizeof table;
    plugin::for_each_member([]<auto Function>(const char* /*name*/, plugin::Group /*group*/) {
      table.*Function = below->has<Function>() ? &Entry<Function>::call : nullptr;
    });
    return table;
  }

 private:
  template <auto Function>
  struct Entry;
  template <class... Args, plug_status (*plug_runtime::*Function)(Args...)>
  struct Entry<Function> {
    static plug_status call(Args... args) { return below->call<Function>(args...); }
  };

  static inline const plugin::Runtime* below = nullptr;
  static inline plug_runtime table{};
};

}  // namespace torchplug::pytorch
