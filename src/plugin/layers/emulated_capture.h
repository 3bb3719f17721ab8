#pragma once
// Capture for devices that have none, as a layer: while a stream captures, what it is given goes into a list
// instead of being carried out, and a replay carries the list out through the plugin's own functions. It
// stands outside of the other layers, which see what a replay does. Any thread may call anything.

#include <functional>
#include <memory>

#include "plugin/module.h"

namespace torchplug::plugin {

// Something on the list that only those above this layer can carry out: a kernel's call.
class RecordedCommand {
 public:
  virtual ~RecordedCommand() = default;
  // `stream`: the one it was recorded on, or what stands for that in a replay. With an error, the plugin's
  // sentence has been set.
  virtual plug_status run(plug_stream stream) = 0;
};

// A piece of work that a replay is about to give to the plugin.
struct ReplayedWork {
  enum class Kind : uint8_t { kCopy, kFill, kHostFunction, kWait };
  Kind kind;
  int32_t device;
  plug_stream stream;
  uint64_t bytes = 0;
  const plug_mem* to = nullptr;
  const plug_mem* from = nullptr;
  void* host_argument = nullptr;  // of a host function
};
// Calls `give`, which hands the work over, and returns what that returns.
using ReplayWatcher = plug_status (*)(const ReplayedWork& work, const std::function<plug_status()>& give);

// Makes module.emulating, for devices that do not capture by themselves. If the plugin has no capture at all,
// its runtime is the same. `watch` sees each piece of work of a replay but for recorded commands, which are
// their own affair.
void emulate_capture(Module& module, ReplayWatcher watch);

// For a stream that captures through this layer; PLUG_INVALID for another.
plug_status record_command(const Module& module, int32_t device, plug_stream stream,
                           std::unique_ptr<RecordedCommand> command);

// host_func in a capture of a device that has none. `fn` runs on the thread that replays, when the stream
// has come to it.
plug_status record_host_func(const Module& module, int32_t device, plug_stream stream,
                             void (*fn)(void* arg, plug_status status), void (*release)(void* arg),
                             void* arg);

}  // namespace torchplug::plugin
