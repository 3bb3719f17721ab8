#pragma once
// A finished trace in Kineto's terms: one lane per device and stream, an arrow from each launch to its work,
// and the links that give each operator its device time. Used by one thread, once.

#include <libkineto.h>
#include <output_base.h>

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "profiler/device_trace.h"

namespace torchplug::profiler {

class TraceWriter {
 public:
  using Types = std::set<libkineto::ActivityType>;
  using FindOperator = libkineto::getLinkedActivityCallback;

  // Writes only what is among `types`. `trace` outlives it.
  TraceWriter(const FinishedTrace& trace, const Types& types, FindOperator find);

  void write(libkineto::ActivityLogger& logger, int64_t start, int64_t end);
  // What was written; the logger has pointers into it.
  std::unique_ptr<libkineto::CpuTraceBuffer> take_buffer() { return std::move(buffer_); }

 private:
  using Activity = libkineto::GenericTraceActivity;

  bool wants(libkineto::ActivityType type) const { return types_.contains(type); }
  Activity& add(libkineto::ActivityType type, const std::string& name, int64_t start, int64_t end);
  void add_launch(const LaunchRecord& launch);
  void add_work(const DeviceWork& work);
  void add_annotations();
  void link(Activity& activity, const LaunchRecord& launch, bool is_start) const;
  // All but the first device, which Kineto asks for itself.
  void name_lanes(libkineto::ActivityLogger& logger, int64_t time) const;

  const FinishedTrace& trace_;
  const Types& types_;
  FindOperator find_;
  std::set<const LaunchRecord*> arrows_;  // those whose work is written
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

// What is to be read beside the lanes of a device.
libkineto::DeviceInfo describe_lane(DeviceIndex device);
// One JSON object per device, with the keys that TensorBoard's plugin reads.
std::string describe_devices(const FinishedTrace& trace);

}  // namespace torchplug::profiler
