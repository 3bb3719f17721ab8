#pragma once
// What the devices did while a profile ran: every launch, and every piece of work with its true start and
// end. The times come from the plugin's own records (plug.h's L4); without them from events around each
// launch; and where the plugin has no streams from the host's clock around the call, which is when the work
// is done. There is one trace at a time. Threads that launch write to it under its lock; a device that is not
// in use when the trace starts is not touched until its first launch.

#include <c10/util/ApproximateClock.h>

#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "profiler/clock_map.h"
#include "profiler/correlation.h"
#include "profiler/event_timer.h"
#include "runtime/submit.h"

namespace torchplug::profiler {

// Where the times of a device come from.
enum class Timing : uint8_t { kRecords, kEvents, kCalls };
const char* timing_name(Timing timing);

// One end of a copy.
struct CopyEnd {
  enum class Place : uint8_t { kDevice, kPinned, kPageable };
  Place place = Place::kDevice;
  DeviceIndex device = -1;
};

// Launches count from here. Other profilers count theirs from 1, CUPTI for one, and a trace that has one
// number twice is refused (PyTorch 2.11) or loses the arrows of both (2.13).
constexpr uint32_t kFirstLaunch = uint32_t{1} << 30;

// One call that gave a device something to do, or waited for it. Times are Unix nanoseconds.
struct LaunchRecord {
  uint32_t id;  // no other launch's in this process
  Work::Kind kind;
  DeviceIndex device;
  c10::StreamId stream;
  const char* call;
  std::string name;
  uint64_t bytes;
  CopyEnd from;
  CopyEnd to;
  int64_t thread;  // the system's number of it
  Correlation correlation;
  int64_t begin = 0;
  int64_t end = 0;
};

// One piece of work that a device has done. Times are Unix nanoseconds.
struct DeviceWork {
  enum class Kind : uint8_t { kKernel, kCopy, kFill, kWait };
  Kind kind;
  DeviceIndex device;
  c10::StreamId stream;
  std::string name;
  uint64_t bytes;
  CopyEnd from;
  CopyEnd to;
  int64_t start;
  int64_t end;
  const LaunchRecord* launch = nullptr;  // of the same trace; null if nobody knows it
};

struct FinishedTrace {
  std::deque<LaunchRecord> launches;                    // in the order they were begun
  std::vector<DeviceWork> works;                        // in the order they began
  std::vector<std::pair<DeviceIndex, Timing>> devices;  // those that were in use
  std::vector<std::string> errors;                      // what is missing, in sentences
};

class DeviceTrace final : public WorkListener {
 public:
  static DeviceTrace& instance();

  // A trace that runs already is thrown away.
  void start();
  // Waits for the devices.
  FinishedTrace stop();

  uint64_t begin(const Work& launch) noexcept override;
  void end(uint64_t number, bool done) noexcept override;
  // A record of the plugin's has no name for it; the host knows the name, and when it ran it.
  void run_replayed(HostJob& job) override;

 private:
  using HostTime = c10::approx_time_t;
  using Converter = c10::ApproximateClockToUnixTimeConverter;

  // The device's clock between two looks at the host's, which is the one that PyTorch's profiler reads.
  struct Reading {
    int64_t device;
    HostTime before;
    HostTime after;
  };
  using Readings = std::vector<Reading>;

  // A device in use.
  struct Lane {
    explicit Lane(DeviceIndex index) : device(index) {}
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    DeviceIndex device;
    Timing timing = Timing::kCalls;
    std::unique_ptr<EventTimer> timer;
    Readings first;
    uint64_t launches = 0;
    uint64_t lost = 0;
    uint64_t misdated = 0;
  };
  using LanePointer = std::shared_ptr<Lane>;

  // A launch while the trace runs.
  struct Entry {
    LaunchRecord record;
    LanePointer lane;
    plug_stream handle;
    plug_event before = nullptr;
    HostTime begin = 0;
    HostTime end = 0;
    bool is_here = false;  // the host's times are the work's
    bool is_done = false;

    bool is_timed_by(Timing timing) const { return !is_here && lane->timing == timing; }
  };

  // Work with its times on the device's clock.
  struct Timed {
    DeviceWork work;
    uint32_t launch;
  };

  // A host function that ran in a replay.
  struct ReplayedJob {
    DeviceWork work;
    HostTime begin;
    HostTime end;
  };

  LanePointer lane_of(DeviceIndex device);
  LanePointer make_lane(DeviceIndex device);
  void use_records(Lane& lane);
  void use_events(Lane& lane);
  static Readings read_clocks(const Lane& lane);
  void collect(Lane& lane);
  void take(Lane& lane, const plug_record& record);
  void note(const std::string& what);

  // With trace_lock_ held:
  Entry* find(uint64_t id);
  void add(const EventTimer::Span& span);

  // The last steps, when no launch is listened to any more.
  struct Ending {
    std::deque<Entry> entries;
    std::vector<LanePointer> lanes;
    std::vector<Timed> timed;
    std::vector<ReplayedJob> replayed_jobs;
    std::function<c10::time_t(HostTime)> to_unix;
  };
  Readings finish(Lane& lane);
  static void add_launches(Ending& ending, FinishedTrace& trace);
  static void add_works(Ending& ending, FinishedTrace& trace, const Lane& lane, const Readings& last);
  static std::vector<ClockReading> on_unix_clock(const Ending& ending, const Readings& readings);

  // The plugin is not called under it: a launch may hold the plugin's lock and wait for this one.
  std::mutex trace_lock_;  // guards what follows
  bool is_running_ = false;
  std::array<LanePointer, std::numeric_limits<DeviceIndex>::max() + 1> lanes_;
  std::map<plug_stream, c10::StreamId> streams_;
  std::deque<Entry> entries_;         // by id, without gaps
  uint32_t first_id_ = kFirstLaunch;  // of entries_
  std::vector<Timed> timed_;
  std::vector<ReplayedJob> replayed_jobs_;
  std::vector<std::string> errors_;
  std::unique_ptr<Converter> converter_;  // made when the trace starts
};

}  // namespace torchplug::profiler
