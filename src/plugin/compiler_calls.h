#pragma once
// The functions of a plugin's plug_compiler as the core calls them: its own, or with layers around them.
// `run` and `engine_pack` are kernels, and go the way of kernels. One that is absent is empty. Belongs to a
// Module and does not change once that is in use; any thread may call.

#include <functional>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::plugin {

struct CompilerCalls {
  template <class... Args>
  using Function = std::function<plug_status(Args...)>;
  using TakeNode = void (*)(void* context, uint32_t node, int32_t group, const char* why);
  using Write = void (*)(void* context, const void* data, uint64_t bytes);

  Function<const plug_compile*, plug_engine*> compile;
  Function<int32_t, plug_engine> engine_destroy;
  Function<int32_t, const plug_graph*, TakeNode, void*> partition;
  Function<int32_t, plug_engine, plug_engine_info*> engine_info;
  Function<int32_t, const char**> identity;
  Function<int32_t, plug_engine, Write, void*> engine_save;
  Function<int32_t, const void*, uint64_t, plug_engine*> engine_load;
  Function<int32_t, const char* const**, uint32_t*> list_schemas;

  // Calls visit("compile", calls.compile) and so on for each.
  template <class Calls, class Visitor>
  static void for_each(Calls& calls, Visitor visit) {
    visit("compile", calls.compile);
    visit("engine_destroy", calls.engine_destroy);
    visit("partition", calls.partition);
    visit("engine_info", calls.engine_info);
    visit("identity", calls.identity);
    visit("engine_save", calls.engine_save);
    visit("engine_load", calls.engine_load);
    visit("list_schemas", calls.list_schemas);
  }

  // The plugin's own.
  static CompilerCalls of(const plug_compiler& table) {
    CompilerCalls calls;
    const auto take = [](auto& function, auto given) {
      if (given != nullptr) function = given;
    };
    take(calls.compile, table.compile);
    take(calls.engine_destroy, table.engine_destroy);
    take(calls.partition, table.partition);
    take(calls.engine_info, table.engine_info);
    take(calls.identity, table.identity);
    take(calls.engine_save, table.engine_save);
    take(calls.engine_load, table.engine_load);
    take(calls.list_schemas, table.list_schemas);
    return calls;
  }
};

// Which engine a kernel runs or packs.
struct EngineKernel {
  plug_engine engine;
  const char* function;  // plug.h's name for it: run or engine_pack
};

// The device that a call of the compiler's names.
template <class... Rest>
int32_t device_of_call(const plug_compile* wish, Rest... /*rest*/) {
  return wish->device;
}
template <class... Rest>
int32_t device_of_call(int32_t device, Rest... /*rest*/) {
  return device;
}

}  // namespace torchplug::plugin
