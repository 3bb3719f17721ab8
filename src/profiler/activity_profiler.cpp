#include "profiler/activity_profiler.h"

#include "base/torch_compat.h"
#include "memory/memory_events.h"

#ifdef TORCHPLUG_HAS_KINETO

#include <c10/util/Exception.h>
#include <libkineto.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/correlation.h"
#include "profiler/device_trace.h"
#include "profiler/trace_writer.h"

namespace torchplug::profiler {
namespace {

using libkineto::ActivityType;
using Types = std::set<ActivityType>;

// Types that a profile of the CPU alone does not ask for.
bool asks_for_devices(const Types& types) {
  return types.contains(ActivityType::CONCURRENT_KERNEL) || types.contains(ActivityType::GPU_MEMCPY) ||
         types.contains(ActivityType::GPU_MEMSET);
}

// One profile. Kineto makes one for a profile of the CPU alone, too; that traces nothing and lets memory be
// watched.
class Session final : public libkineto::IActivityProfilerSession {
 public:
  explicit Session(Types types) : types_(std::move(types)), traces_(asks_for_devices(types_)) {}

  // A profile that is given up.
  ~Session() override { static_cast<void>(end()); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start() override {
    status_ = libkineto::TraceStatus::RECORDING;
    watch_memory(true);
    if (traces_) DeviceTrace::instance().start();
  }

  void stop() override {
    trace_ = end();
    for (const std::string& error : trace_.errors) TORCH_WARN("The profile is incomplete. ", error);
  }

  std::vector<std::string> errors() override { return trace_.errors; }

  void processTrace(libkineto::ActivityLogger& logger) override { processTrace(logger, nullptr, 0, 0); }
  void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback find_operator,
                    int64_t start, int64_t end) override {
    if (!traces_) return;
    TraceWriter writer(trace_, types_, std::move(find_operator));
    writer.write(logger, start, end);
    buffer_ = writer.take_buffer();
  }

  // Kineto has room for one device here, and gives lanes names of its own if there is none; the writer names
  // the others.
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    if (!traces_) return nullptr;
    const DeviceIndex device = trace_.devices.empty() ? DeviceIndex{0} : trace_.devices.front().first;
    return std::make_unique<libkineto::DeviceInfo>(describe_lane(device));
  }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(buffer_); }
  std::string getDeviceProperties() override { return describe_devices(trace_); }

  void pushCorrelationId(uint64_t id) override {
    if (traces_) push_operator(id);
  }
  void popCorrelationId() override {
    if (traces_) pop_operator();
  }
  void pushUserCorrelationId(uint64_t id) override {
    if (traces_) push_annotation(id);
  }
  void popUserCorrelationId() override {
    if (traces_) pop_annotation();
  }

 private:
  FinishedTrace end() {
    if (status_ != libkineto::TraceStatus::RECORDING) return {};
    status_ = libkineto::TraceStatus::PROCESSING;
    watch_memory(false);
    return traces_ ? DeviceTrace::instance().stop() : FinishedTrace{};
  }

  Types types_;
  bool traces_;
  FinishedTrace trace_;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const Types& availableActivities() const override { return types_; }

  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const Types& types, const libkineto::Config& /*config*/) override {
    return std::make_unique<Session>(types);
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(int64_t /*start_ms*/,
                                                                 int64_t /*duration_ms*/, const Types& types,
                                                                 const libkineto::Config& config) override {
    return configure(types, config);
  }

 private:
  const std::string name_ = "torchplug";
  const Types types_{ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY,
                     ActivityType::GPU_MEMSET,        ActivityType::GPU_USER_ANNOTATION,
                     ActivityType::CUDA_SYNC,         ActivityType::PRIVATEUSE1_RUNTIME};
};

}  // namespace

// With Kineto itself rather than with PyTorch's registry for such profilers: that one, in the releases that
// have it, leaves out profiles of the CPU, in which memory of the device counts too.
void register_activity_profiler() {
  libkineto::api().registerProfilerFactory(
      []() -> std::unique_ptr<libkineto::IActivityProfiler> { return std::make_unique<Profiler>(); });
}

}  // namespace torchplug::profiler

#else

namespace torchplug::profiler {

// Nobody says when a profile runs: memory is reported at all times, and PyTorch takes what it wants.
void register_activity_profiler() { watch_memory(true); }

}  // namespace torchplug::profiler

#endif
