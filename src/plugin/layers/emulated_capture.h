#pragma once
// Capture for a plugin that has none: while a stream captures, what it is given goes into a list instead of
// being carried out, and a replay carries the list out through the plugin's own functions. Fills the capture
// group of module.runtime, the process's one device plugin. Any thread may call anything.

#include <memory>

#include "plugin/module.h"

namespace torchplug::plugin {

// Something on the list that only those above this layer can carry out: a kernel's call.
class RecordedCommand {
 public:
  virtual ~RecordedCommand() = default;
  // With an error, the plugin's sentence has been set.
  virtual plug_status run() = 0;
};

void record_captures(Module& module);

// For a stream that captures through this layer: PLUG_INVALID for another.
plug_status record_command(int32_t device, plug_stream stream, std::unique_ptr<RecordedCommand> command);

// host_func in a capture of a plugin that has none. `fn` runs on the thread that replays, when the stream
// has come to it.
plug_status record_host_func(int32_t device, plug_stream stream, void (*fn)(void* arg, plug_status status),
                             void (*release)(void* arg), void* arg);

}  // namespace torchplug::plugin
