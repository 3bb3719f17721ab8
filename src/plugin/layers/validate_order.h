#pragma once
// What the validate layer knows of the order of work: which streams and events there are, how far the host
// knows each stream to have come, and the host functions that are under way.
//
// Every piece of work takes a number of its stream. A clock says up to which number each stream has come; a
// stream's own says what is done before anything enqueued on it now, an event's what was before its record. A
// sync, and a query that says yes, tells the host a clock. Under concurrent calls the answers err on the side
// of silence. One lock guards it all and is not held while the plugin is called; any thread may call.

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::plugin::validation {

using StreamNumber = uint32_t;
using WorkNumber = uint64_t;
using Clock = std::map<StreamNumber, WorkNumber>;

class Order;

// A host function on its way through a stream.
struct TrackedJob {
  Order& order;
  void (*fn)(void*, plug_status);
  void (*release)(void*);
  void* argument;
  int32_t device;
  StreamNumber stream;
  WorkNumber after;       // what its stream had when it was enqueued
  bool is_captured;       // runs at each replay, and is not waited for
  WorkNumber number = 0;  // once enqueuing is over
  bool has_begun = false;
  bool has_ended = false;
  bool is_released = false;
};

class Order {
 public:
  // ---- streams ----
  void add_stream(int32_t device, plug_stream stream);
  // One that another library made, or a name for one that is known already.
  void add_import(int32_t device, plug_stream stream);
  void check_stream(const char* function, int32_t device, plug_stream stream);
  void remove_stream(int32_t device, plug_stream stream);

  struct Place {
    StreamNumber stream;
    WorkNumber number;
  };
  // The next piece of work for a stream that exists.
  Place enqueue(int32_t device, plug_stream stream);
  bool has_passed(const Place& place);

  Clock stream_clock(int32_t device, plug_stream stream);
  Clock device_clock(int32_t device);
  // The host now knows that all of this is done; `released`: the arguments of host functions are too.
  void learn(const char* function, const Clock& clock, bool released);

  // ---- events ----
  void add_event(int32_t device, plug_event event, uint32_t flags, bool is_imported);
  void check_event(const char* function, int32_t device, plug_event event);
  void remove_event(plug_event event);
  size_t events();
  bool is_timed(plug_event event);
  bool is_never_recorded(plug_event event);
  void record(plug_event event, const Clock& clock);
  Clock event_clock(plug_event event);
  void wait(plug_event event, int32_t device, plug_stream stream);

  // ---- captures ----
  void check_capture_begin(int32_t device, plug_stream stream);
  void begin_capture(int32_t device, plug_stream stream);
  void check_capture_end(int32_t device, plug_stream stream);
  void end_capture(int32_t device, plug_stream stream);
  void add_capture(int32_t device, plug_capture capture);
  void check_capture(const char* function, int32_t device, plug_capture capture);
  // The replay is enqueued next; those before it are done by then.
  void check_replay(plug_capture capture, int32_t device, plug_stream stream);
  void note_replay(plug_capture capture, const Place& place);
  void check_destroy(plug_capture capture);
  void remove_capture(plug_capture capture);
  size_t captures();
  // Whether any stream captures: what is enqueued then may run later, or not at all.
  bool is_capturing() const { return capturing_count_.load(std::memory_order_relaxed) != 0; }

  // ---- host functions ----
  TrackedJob* make_job(int32_t device, plug_stream stream, void (*fn)(void*, plug_status),
                       void (*release)(void*), void* argument);
  void job_enqueued(TrackedJob* job);
  void job_refused(TrackedJob* job);
  // Given to the plugin in place of the core's own.
  static void run_job(void* argument, plug_status status);
  static void release_job(void* argument);
  // Whether this thread is inside a host function or its release.
  static bool is_inside_job();

 private:
  bool is_capturing(int32_t device, plug_stream stream);
  using StreamKey = std::pair<int32_t, plug_stream>;
  struct Stream {
    int32_t device;
    WorkNumber last = 0;
    WorkNumber passed = 0;
    Clock clock;
    std::map<WorkNumber, TrackedJob*> jobs;  // enqueued and not released
  };
  struct Event {
    int32_t device;
    uint32_t flags;
    bool is_imported;
    bool is_recorded = false;
    Clock clock;
  };

  struct Capture {
    int32_t device;
    Clock replays{};  // the latest on each stream
  };

  StreamNumber number_of(int32_t device, plug_stream stream);
  Clock replays_of(plug_capture capture) const;
  void retire(TrackedJob* job);

  std::mutex lock_;
  std::vector<Stream> streams_;  // by number, those destroyed included
  std::map<StreamKey, StreamNumber> numbers_;
  std::set<StreamKey> imported_;
  std::map<plug_event, Event> events_;
  std::set<StreamKey> capturing_;
  std::atomic<size_t> capturing_count_{0};
  std::map<plug_capture, Capture> captures_;
  std::map<TrackedJob*, std::unique_ptr<TrackedJob>> jobs_;
  std::deque<std::unique_ptr<TrackedJob>> retired_;  // kept a while, to see what is done to them twice
};

}  // namespace torchplug::plugin::validation
