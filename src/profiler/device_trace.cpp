#include "profiler/device_trace.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/immortal.h"
#include "base/utf8.h"
#include "profiler/plugin_profiler.h"

namespace torchplug::profiler {
namespace {

// So often are the records of a device fetched while a trace runs.
constexpr uint64_t kLaunchesBetweenVisits = 4096;
// Both clocks are read so many times; the reading that took the shortest says the most.
constexpr int kClockReadings = 5;

CopyEnd end_of(const plug_mem* memory) {
  if (memory == nullptr) return {};
  if (memory->device != PLUG_HOST) return {CopyEnd::Place::kDevice, visible_index(memory->device)};
  const bool is_pinned = (memory->flags & PLUG_MEM_PINNED) != 0;
  return {is_pinned ? CopyEnd::Place::kPinned : CopyEnd::Place::kPageable, -1};
}

// A record of the plugin's does not say whether host memory was pinned; the launch does.
CopyEnd end_of(int32_t plugins_index) {
  if (plugins_index == PLUG_HOST) return {CopyEnd::Place::kPageable, -1};
  return {CopyEnd::Place::kDevice, visible_index(plugins_index)};
}

DeviceWork::Kind kind_of(Work::Kind kind) {
  switch (kind) {
    case Work::Kind::kCopy: return DeviceWork::Kind::kCopy;
    case Work::Kind::kFill: return DeviceWork::Kind::kFill;
    case Work::Kind::kWait: return DeviceWork::Kind::kWait;
    default: return DeviceWork::Kind::kKernel;
  }
}

DeviceWork::Kind kind_of(const plug_record& record) {
  switch (record.kind) {
    case PLUG_RECORD_COPY: return DeviceWork::Kind::kCopy;
    case PLUG_RECORD_FILL: return DeviceWork::Kind::kFill;
    case PLUG_RECORD_WAIT: return DeviceWork::Kind::kWait;
    default: return DeviceWork::Kind::kKernel;
  }
}

// What a table of times calls the work of an operator, whose own name has a line already.
std::string work_name(const LaunchRecord& launch) {
  switch (launch.kind) {
    case Work::Kind::kKernel: return launch.name + " [kernel]";
    case Work::Kind::kHost: return launch.name + " [host]";
    default: return launch.name;
  }
}

// All that a launch tells about its work, but for the times.
DeviceWork work_of(const LaunchRecord& launch) {
  DeviceWork work{};
  work.kind = kind_of(launch.kind);
  work.device = launch.device;
  work.stream = launch.stream;
  work.name = work_name(launch);
  work.bytes = launch.bytes;
  work.from = launch.from;
  work.to = launch.to;
  return work;
}

std::string sentence_of(const std::exception& error) {
  const auto* ours = dynamic_cast<const c10::Error*>(&error);
  return ours != nullptr ? ours->what_without_backtrace() : error.what();
}

// Its id and times follow.
LaunchRecord record_of(const Work& launch) {
  return {.id = 0,
          .kind = launch.kind,
          .device = launch.stream.device(),
          .stream = launch.stream.id(),
          .call = launch.function,
          .name = launch.name == nullptr ? "" : launch.name,
          .bytes = launch.bytes,
          .from = end_of(launch.from),
          .to = end_of(launch.to),
          .thread = ::gettid(),
          .correlation = current_correlation()};
}

}  // namespace

const char* timing_name(Timing timing) {
  switch (timing) {
    case Timing::kRecords: return "records";
    case Timing::kEvents: return "events";
    default: return "calls";
  }
}

DeviceTrace& DeviceTrace::instance() {
  static auto& trace = *immortal<DeviceTrace>();
  return trace;
}

void DeviceTrace::start() {
  stop();
  forget_correlations();
  {
    std::lock_guard lock(trace_lock_);
    converter_ = std::make_unique<Converter>();
    is_running_ = true;
  }
  if (are_devices_known()) {
    for (DeviceIndex device = 0; device < device_count(); ++device) {
      if (is_open(device)) lane_of(device);
    }
  }
  listen_to_work(this);
}

// ---- the devices ----

DeviceTrace::Lane::~Lane() {
  if (timing != Timing::kRecords || !is_open(device)) return;
  try {
    stop_plugin_profiler(device);
  } catch (const c10::Error& error) {
    TORCH_WARN(error.what_without_backtrace());
  }
}

DeviceTrace::LanePointer DeviceTrace::lane_of(DeviceIndex device) {
  {
    std::lock_guard lock(trace_lock_);
    if (const LanePointer& lane = lanes_[static_cast<size_t>(device)]) return lane;
  }
  LanePointer made = make_lane(device);
  std::lock_guard lock(trace_lock_);
  LanePointer& lane = lanes_[static_cast<size_t>(device)];
  if (lane == nullptr) lane = std::move(made);  // else another thread was faster
  return lane;
}

DeviceTrace::LanePointer DeviceTrace::make_lane(DeviceIndex device) {
  auto lane = std::make_shared<Lane>(device);
  try {
    if (module_of(device).has_profiler()) use_records(*lane);
  } catch (const std::exception& error) {
    note(sentence_of(error));
    lane = std::make_shared<Lane>(device);
  }
  try {
    if (lane->timing == Timing::kCalls && EventTimer::is_possible(device)) use_events(*lane);
  } catch (const std::exception& error) {
    note(sentence_of(error));
    lane = std::make_shared<Lane>(device);
  }
  return lane;
}

void DeviceTrace::use_records(Lane& lane) {
  start_plugin_profiler(lane.device);
  lane.timing = Timing::kRecords;
  lane.first = read_clocks(lane);
}

void DeviceTrace::use_events(Lane& lane) {
  lane.timer = std::make_unique<EventTimer>(lane.device);
  lane.timing = Timing::kEvents;
  lane.first = read_clocks(lane);
}

DeviceTrace::Readings DeviceTrace::read_clocks(const Lane& lane) {
  Readings readings;
  for (int i = 0; i < kClockReadings; ++i) {
    const HostTime before = c10::getApproximateTime();
    const int64_t device =
        lane.timing == Timing::kRecords ? read_plugin_clock(lane.device) : lane.timer->now();
    readings.push_back({device, before, c10::getApproximateTime()});
  }
  return readings;
}

// ---- the launches ----

uint64_t DeviceTrace::begin(const Work& launch) noexcept {
  try {
    const HostTime now = c10::getApproximateTime();  // before the event, which may be ready at once
    const DeviceIndex device = launch.stream.device();
    plug_stream handle = launch.stream.handle();
    Entry entry{.record = record_of(launch), .lane = lane_of(device), .handle = handle, .begin = now};
    entry.is_here = launch.is_here || launch.kind == Work::Kind::kSync;
    const bool has_label = entry.is_timed_by(Timing::kRecords);
    if (entry.is_timed_by(Timing::kEvents)) entry.before = entry.lane->timer->mark(handle);
    uint32_t id = 0;
    {
      std::lock_guard lock(trace_lock_);
      if (!is_running_) {
        if (entry.before != nullptr) entry.lane->timer->give_back(entry.before);
        return 0;
      }
      id = first_id_ + static_cast<uint32_t>(entries_.size());
      entry.record.id = id;
      streams_.emplace(handle, launch.stream.id());
      entries_.push_back(std::move(entry));
    }
    if (has_label) set_plugin_label(device, handle, id);
    return id;
  } catch (const std::exception& error) {
    note(sentence_of(error));
    return 0;
  }
}

void DeviceTrace::end(uint64_t number, bool done) noexcept {
  const HostTime now = c10::getApproximateTime();
  if (number == 0) return;
  try {
    LanePointer lane;
    plug_stream handle = nullptr;
    plug_event before = nullptr;
    bool is_labelled = false;
    bool is_visit = false;
    {
      std::lock_guard lock(trace_lock_);
      Entry* found = find(number);
      if (found == nullptr) return;  // of a trace that has ended
      found->end = now;
      found->is_done = done;
      lane = found->lane;
      handle = found->handle;
      before = std::exchange(found->before, nullptr);
      is_labelled = found->is_timed_by(Timing::kRecords);
      is_visit = ++lane->launches % kLaunchesBetweenVisits == 0;
    }
    if (is_labelled) set_plugin_label(lane->device, handle, 0);
    if (before != nullptr) {
      if (done) {
        lane->timer->keep(static_cast<uint32_t>(number), before, lane->timer->mark(handle));
      } else {
        lane->timer->give_back(before);
      }
    }
    if (is_visit) collect(*lane);
  } catch (const std::exception& error) {
    note(sentence_of(error));
  }
}

void DeviceTrace::run_replayed(HostJob& job) {
  const HostTime begin = c10::getApproximateTime();
  job.run();
  const HostTime end = c10::getApproximateTime();
  DeviceWork work{};
  work.kind = DeviceWork::Kind::kKernel;
  work.device = job.device();
  work.stream = job.captured_on().value_or(0);
  work.name = std::string(job.name()) + " [host]";
  std::lock_guard lock(trace_lock_);
  const LanePointer& lane = lanes_[static_cast<size_t>(job.device())];
  // Where events give the times, the replay is one piece of work.
  if (is_running_ && lane != nullptr && lane->timing == Timing::kRecords) {
    replayed_jobs_.push_back({std::move(work), begin, end});
  }
}

DeviceTrace::Entry* DeviceTrace::find(uint64_t id) {
  const uint64_t place = id - first_id_;
  return id >= first_id_ && place < entries_.size() ? &entries_[place] : nullptr;
}

// ---- the work ----

void DeviceTrace::collect(Lane& lane) {
  if (lane.timing == Timing::kRecords) {
    const uint64_t lost =
        drain_plugin_profiler(lane.device, [&](const plug_record& record) { take(lane, record); });
    std::lock_guard lock(trace_lock_);
    lane.lost += lost;
  } else if (lane.timing == Timing::kEvents) {
    const std::vector<EventTimer::Span> spans = lane.timer->collect();
    std::lock_guard lock(trace_lock_);
    for (const EventTimer::Span& span : spans) add(span);
  }
}

// The plugin knows best what it did; what it does not say, the launch does.
void DeviceTrace::take(Lane& lane, const plug_record& record) {
  std::lock_guard lock(trace_lock_);
  const Entry* entry = find(record.label);
  if (record.start < lane.first.front().device) {
    // Of somebody who recorded before; but what was launched in this trace cannot have begun before it.
    if (entry != nullptr) ++lane.misdated;
    return;
  }
  const bool is_in_replay = entry != nullptr && entry->record.kind == Work::Kind::kReplay;
  if (is_in_replay && record.kind == PLUG_RECORD_HOST && record.name == nullptr) return;  // see run_replayed
  DeviceWork work = entry != nullptr ? work_of(entry->record) : DeviceWork{};
  work.kind = kind_of(record);
  work.device = lane.device;
  if (record.name != nullptr) work.name = as_utf8(record.name);
  if (record.bytes != 0) work.bytes = record.bytes;
  if (entry == nullptr) {
    const auto known = streams_.find(record.stream);
    // Work that nobody launched here, on a stream of the vendor's own: its address will do for a number.
    work.stream = known != streams_.end() ? known->second : reinterpret_cast<intptr_t>(record.stream);
    work.from = end_of(record.source);
    work.to = end_of(record.target);
  }
  work.start = record.start;
  work.end = record.end;
  timed_.push_back({std::move(work), entry != nullptr ? entry->record.id : 0});
}

void DeviceTrace::add(const EventTimer::Span& span) {
  const Entry* entry = find(span.launch);
  if (entry == nullptr) return;
  DeviceWork work = work_of(entry->record);
  work.start = span.start;
  work.end = span.end;
  timed_.push_back({std::move(work), span.launch});
}

void DeviceTrace::note(const std::string& what) {
  std::lock_guard lock(trace_lock_);
  if (std::find(errors_.begin(), errors_.end(), what) == errors_.end()) errors_.push_back(what);
}

// ---- the end ----

FinishedTrace DeviceTrace::stop() {
  FinishedTrace trace;
  listen_to_work(nullptr);
  // In a child of the process that traced, its devices are out of reach and its locks may be held for ever.
  if (is_forked()) return trace;
  Ending ending;
  {
    std::lock_guard lock(trace_lock_);
    if (!std::exchange(is_running_, false)) return trace;
    for (const LanePointer& lane : lanes_) {
      if (lane != nullptr) ending.lanes.push_back(lane);
    }
    ending.to_unix = converter_->makeConverter();
  }
  std::vector<Readings> last;
  last.reserve(ending.lanes.size());
  for (const LanePointer& lane : ending.lanes) last.push_back(finish(*lane));
  {
    std::lock_guard lock(trace_lock_);
    first_id_ += static_cast<uint32_t>(entries_.size());
    ending.entries = std::exchange(entries_, {});
    ending.timed = std::exchange(timed_, {});
    ending.replayed_jobs = std::exchange(replayed_jobs_, {});
    trace.errors = std::exchange(errors_, {});
    lanes_.fill(nullptr);
    streams_.clear();
  }
  add_launches(ending, trace);
  for (size_t i = 0; i < ending.lanes.size(); ++i) add_works(ending, trace, *ending.lanes[i], last[i]);
  for (ReplayedJob& job : ending.replayed_jobs) {
    DeviceWork& work = trace.works.emplace_back(std::move(job.work));
    work.start = ending.to_unix(job.begin);
    work.end = ending.to_unix(job.end);
  }
  std::stable_sort(trace.works.begin(), trace.works.end(),
                   [](const DeviceWork& a, const DeviceWork& b) { return a.start < b.start; });
  return trace;
}

// What failed on the device is for the user's next synchronisation to say, so nothing is thrown here.
DeviceTrace::Readings DeviceTrace::finish(Lane& lane) {
  if (!is_open(lane.device)) return lane.first;
  ask_plugin<&plug_runtime::device_sync>(lane.device);
  try {
    collect(lane);
    return lane.timing == Timing::kCalls ? lane.first : read_clocks(lane);
  } catch (const std::exception& error) {
    note(sentence_of(error));
    return lane.first;
  }
}

// What another thread had begun and not ended is left out.
void DeviceTrace::add_launches(Ending& ending, FinishedTrace& trace) {
  for (Entry& entry : ending.entries) {
    if (entry.before != nullptr) entry.lane->timer->give_back(entry.before);
    LaunchRecord& record = trace.launches.emplace_back(std::move(entry.record));
    record.begin = ending.to_unix(entry.begin);
    record.end = entry.end != 0 ? ending.to_unix(entry.end) : record.begin;
    const bool is_work = entry.is_done && record.kind != Work::Kind::kSync;
    const bool is_timed = entry.is_here || entry.lane->timing == Timing::kCalls;
    if (!is_work || !is_timed) continue;
    DeviceWork& work = trace.works.emplace_back(work_of(record));
    work.start = record.begin;
    work.end = record.end;
    work.launch = &record;
  }
}

std::vector<ClockReading> DeviceTrace::on_unix_clock(const Ending& ending, const Readings& readings) {
  std::vector<ClockReading> converted;
  for (const Reading& reading : readings) {
    converted.push_back({reading.device, ending.to_unix(reading.before), ending.to_unix(reading.after)});
  }
  return converted;
}

void DeviceTrace::add_works(Ending& ending, FinishedTrace& trace, const Lane& lane, const Readings& last) {
  trace.devices.emplace_back(lane.device, lane.timing);
  if (lane.lost != 0) {
    trace.errors.push_back("The plugin dropped " + std::to_string(lane.lost) + " records of device " +
                           std::to_string(int{lane.device}) + ".");
  }
  if (lane.misdated != 0) {
    trace.errors.push_back(std::to_string(lane.misdated) + " records of device " +
                           std::to_string(int{lane.device}) + " start before their launch and were dropped.");
  }
  ClockMap clock(on_unix_clock(ending, lane.first), on_unix_clock(ending, last));
  const uint32_t first_id = trace.launches.empty() ? 0 : trace.launches.front().id;
  for (const Timed& timed : ending.timed) {
    if (timed.work.device != lane.device || timed.launch == 0) continue;
    clock.follow(timed.work.start, trace.launches[timed.launch - first_id].begin);
  }
  for (Timed& timed : ending.timed) {
    if (timed.work.device != lane.device) continue;
    DeviceWork& work = trace.works.emplace_back(std::move(timed.work));
    work.start = clock.to_host(work.start);
    work.end = clock.to_host(work.end);
    if (timed.launch == 0) continue;
    work.launch = &trace.launches[timed.launch - first_id];
    // Where it seems to begin before its launch, clocks drift. To move its end too could move it past the
    // start of what follows.
    work.start = std::max(work.start, work.launch->begin);
    work.end = std::max(work.end, work.start);
  }
}

}  // namespace torchplug::profiler
