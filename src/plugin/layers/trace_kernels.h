#pragma once
// Kernels in a trace: each call of them, of their `prepare`, `shape` and `forget`, and what they ask the host
// for meanwhile; and a compiler, whose engines are called as kernels are. Any thread may call.

#include <string>

#include "plugin/layers/trace_contents.h"
#include "plugin/layers/trace_file.h"
#include "plugin/layers/trace_names.h"
#include "plugin/module.h"

namespace torchplug::plugin::tracing {

// What a trace is written with. Lives for ever.
struct Trace {
  Trace(const std::string& path, const std::string& header, const Module& module)
      : file(path, header), contents(module.runtime), host(module.host) {}

  TraceFile file;
  Names names;
  Contents contents;
  const plug_host& host;

  // The answer to a call: its status, and what the plugin said of a failure.
  std::string answer(plug_status status) const;
};

// Puts the trace around every kernel of the module, its compiler, and the engines to come.
void trace_kernels(Module& module, Trace& trace);

}  // namespace torchplug::plugin::tracing
