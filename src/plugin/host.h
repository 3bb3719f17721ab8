#pragma once
// What torchplug offers a plugin: the plug_host table and what stands behind it.
// One table per plugin, owned by its Module and alive until the process ends.
// Any thread may call through it; the last error is kept per thread.

#include <optional>
#include <string>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::plugin {

// Answers scratch, output and rng for one kernel call; plug_call::host_private points at it.
class CallServices {
 public:
  virtual plug_status scratch(uint64_t bytes, plug_mem* mem) = 0;
  // strides: null for contiguous.
  virtual plug_status output(uint32_t index, plug_dtype dtype, int32_t ndim, const int64_t* sizes,
                             const int64_t* strides) = 0;
  virtual plug_status rng(uint64_t draws, plug_rng* rng) = 0;

 protected:
  ~CallServices() = default;
};

// No table of any version comes near it: the size was never set.
inline constexpr uint32_t kLargestTable = 1 << 16;

// Receives what plugins report about work that failed after it was enqueued.
using ReportHandler = void (*)(int32_t device, plug_stream stream, uint64_t sequence, plug_status status,
                               const char* message);
void set_report_handler(ReportHandler handler);

// What a kernel reported of a call on CPU tensors, which has no device: its caller asks when it has returned,
// by the number of the call. Costs one load if nothing was reported.
struct HostReport {
  plug_status status;
  std::string message;
};
std::optional<HostReport> take_host_report(uint64_t sequence);

plug_host make_host_table();

// What host->log does.
void log_message(int32_t level, const char* message);

// From now on this is the lowest level that is printed, in place of TORCHPLUG_LOG.
void set_log_level(int32_t level);

// The sentence the calling thread's last failing plugin function left; empty if none.
std::string take_plugin_error();
// The same of a call with this number (sequence.h), which the calling thread has made: empty if the sentence
// is older than the call.
std::string take_plugin_error_of(uint64_t sequence);

// What a status means, in words.
std::string status_name(plug_status status);

}  // namespace torchplug::plugin
