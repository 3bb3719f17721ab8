#include "base/torch_compat.h"

#ifdef TORCHPLUG_HAS_KINETO

#include <c10/core/DeviceType.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "profiler/trace_writer.h"

namespace torchplug::profiler {
namespace {

using libkineto::ActivityType;

// Kineto numbers lanes with 31 bits; a stream of another library may be numbered by its address.
int32_t lane_number(c10::StreamId stream) {
  const auto bits = static_cast<uint64_t>(stream);
  return static_cast<int32_t>((bits ^ (bits >> 31)) & 0x7fffffff);
}

ActivityType type_of(DeviceWork::Kind kind) {
  switch (kind) {
    case DeviceWork::Kind::kCopy: return ActivityType::GPU_MEMCPY;
    case DeviceWork::Kind::kFill: return ActivityType::GPU_MEMSET;
    case DeviceWork::Kind::kWait: return ActivityType::CUDA_SYNC;
    default: return ActivityType::CONCURRENT_KERNEL;
  }
}

const char* place_name(const CopyEnd& end) {
  switch (end.place) {
    case CopyEnd::Place::kPinned: return "Pinned";
    case CopyEnd::Place::kPageable: return "Pageable";
    default: return "Device";
  }
}

// As Kineto names them on every device, and tools expect them.
std::string copy_name(const DeviceWork& work) {
  const auto letter = [](const CopyEnd& end) { return end.place == CopyEnd::Place::kDevice ? "D" : "H"; };
  std::string direction = std::string(letter(work.from)) + "to" + letter(work.to);
  if (direction == "DtoD" && work.from.device != work.to.device) direction = "PtoP";
  return "Memcpy " + direction + " (" + place_name(work.from) + " -> " + place_name(work.to) + ")";
}

std::string name_of(const DeviceWork& work) {
  switch (work.kind) {
    case DeviceWork::Kind::kCopy: return copy_name(work);
    case DeviceWork::Kind::kFill: return "Memset (Device)";
    case DeviceWork::Kind::kWait: return "Stream Wait Event";
    default: return work.name.empty() ? "kernel" : work.name;
  }
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string device_name(DeviceIndex device) {
  return c10::get_privateuse1_backend() + ":" + std::to_string(int{device});
}

}  // namespace

libkineto::DeviceInfo describe_lane(DeviceIndex device) {
  const int64_t place = libkineto::kExceedMaxPid + device;  // below all processes
  return {device, place, device_name(device), is_open(device) ? device_info(device).name : "not in use"};
}

std::string describe_devices(const FinishedTrace& trace) {
  std::ostringstream json;
  const char* separator = "";
  for (const auto& [device, timing] : trace.devices) {
    const DeviceInfo& info = device_info(device);
    json << separator << R"({"id": )" << int{device} << R"(, "name": )" << quoted(info.name)
         << R"(, "totalGlobalMem": )" << info.total_bytes << R"(, "computeMajor": )" << info.capability_major
         << R"(, "computeMinor": )" << info.capability_minor << R"(, "numSms": )" << info.processor_count
         << R"(, "timedBy": )" << quoted(timing_name(timing)) << "}";
    separator = ", ";
  }
  return json.str();
}

TraceWriter::TraceWriter(const FinishedTrace& trace, const Types& types, FindOperator find)
    : trace_(trace),
      types_(types),
      find_(std::move(find)),
      buffer_(std::make_unique<libkineto::CpuTraceBuffer>()) {}

void TraceWriter::write(libkineto::ActivityLogger& logger, int64_t start, int64_t end) {
  buffer_->span = libkineto::TraceSpan(start, end, c10::get_privateuse1_backend());
  buffer_->span.opCount = static_cast<int>(trace_.works.size());
  for (const DeviceWork& work : trace_.works) {
    if (work.launch != nullptr && wants(type_of(work.kind))) arrows_.insert(work.launch);
  }
  for (const LaunchRecord& launch : trace_.launches) add_launch(launch);
  for (const DeviceWork& work : trace_.works) add_work(work);
  add_annotations();
  for (const auto& activity : buffer_->activities) logger.handleActivity(*activity);
  name_lanes(logger, start);
}

TraceWriter::Activity& TraceWriter::add(ActivityType type, const std::string& name, int64_t start,
                                        int64_t end) {
  buffer_->emplace_activity(buffer_->span, type, name);
  Activity& activity = *buffer_->activities.back();
  activity.startTime = start;
  activity.endTime = end;
  return activity;
}

// The flow is Kineto's arrow from the launch to what was launched. The number of a launch that belongs to no
// operator is left out: it could be taken for an operator's.
void TraceWriter::link(Activity& activity, const LaunchRecord& launch, bool is_start) const {
  if (find_ != nullptr && launch.correlation.operator_id != 0) {
    activity.linked = find_(static_cast<int32_t>(launch.correlation.operator_id));
  }
  if (activity.linked != nullptr) activity.id = static_cast<int32_t>(launch.id);
  activity.addMetadata("correlation", launch.id);
  if (!arrows_.contains(&launch) || !wants(ActivityType::PRIVATEUSE1_RUNTIME)) return;
  activity.flow.id = launch.id;
  activity.flow.type = libkineto::kLinkAsyncCpuGpu;
  activity.flow.start = is_start ? 1 : 0;
}

void TraceWriter::add_launch(const LaunchRecord& launch) {
  if (!wants(ActivityType::PRIVATEUSE1_RUNTIME)) return;
  Activity& activity =
      add(ActivityType::PRIVATEUSE1_RUNTIME, std::string("plug::") + launch.call, launch.begin, launch.end);
  activity.device = ::getpid();
  activity.resource = static_cast<int32_t>(launch.thread);
  link(activity, launch, /*is_start=*/true);
}

void TraceWriter::add_work(const DeviceWork& work) {
  const ActivityType type = type_of(work.kind);
  if (!wants(type)) return;
  Activity& activity = add(type, name_of(work), work.start, work.end);
  activity.device = work.device;
  activity.resource = lane_number(work.stream);
  activity.addMetadata("device", int{work.device});
  activity.addMetadata("stream", lane_number(work.stream));
  if (work.launch != nullptr) link(activity, *work.launch, /*is_start=*/false);
  if (activity.linked != nullptr) activity.addMetadataQuoted("operator", activity.linked->name());
  const bool moves = work.kind == DeviceWork::Kind::kCopy || work.kind == DeviceWork::Kind::kFill;
  if (!moves) return;
  activity.addMetadata("bytes", work.bytes);
  const int64_t took = work.end - work.start;
  if (took > 0) {
    activity.addMetadata("memory bandwidth (GB/s)",
                         static_cast<double>(work.bytes) / static_cast<double>(took));
  }
}

// The user's ranges as the device saw them: on each stream, from the first work in the range to the last.
void TraceWriter::add_annotations() {
  if (!wants(ActivityType::GPU_USER_ANNOTATION) || find_ == nullptr) return;
  std::map<std::tuple<uint64_t, DeviceIndex, c10::StreamId>, std::pair<int64_t, int64_t>> ranges;
  for (const DeviceWork& work : trace_.works) {
    if (work.launch == nullptr || work.kind == DeviceWork::Kind::kWait) continue;
    for (const Annotation* range = work.launch->correlation.annotation.get(); range != nullptr;
         range = range->outer.get()) {
      const auto [found, is_new] =
          ranges.try_emplace({range->id, work.device, work.stream}, work.start, work.end);
      if (is_new) continue;
      found->second.first = std::min(found->second.first, work.start);
      found->second.second = std::max(found->second.second, work.end);
    }
  }
  for (const auto& [where, times] : ranges) {
    const auto& [id, device, stream] = where;
    const libkineto::ITraceActivity* range = find_(static_cast<int32_t>(id));
    if (range == nullptr) continue;
    Activity& activity = add(ActivityType::GPU_USER_ANNOTATION, range->name(), times.first, times.second);
    activity.device = device;
    activity.resource = lane_number(stream);
    activity.id = static_cast<int32_t>(id);
  }
}

void TraceWriter::name_lanes(libkineto::ActivityLogger& logger, int64_t time) const {
  for (size_t i = 1; i < trace_.devices.size(); ++i) {
    logger.handleDeviceInfo(describe_lane(trace_.devices[i].first), time);
  }
  std::set<std::pair<DeviceIndex, c10::StreamId>> lanes;
  for (const DeviceWork& work : trace_.works) lanes.emplace(work.device, work.stream);
  for (const auto& [device, stream] : lanes) {
    const int32_t number = lane_number(stream);
    const std::string name = "stream " + std::to_string(number) + " (" + device_name(device) + ")";
    logger.handleResourceInfo(compat::resource_info<libkineto::ResourceInfo>(device, number, name), time);
  }
}

}  // namespace torchplug::profiler

#endif
