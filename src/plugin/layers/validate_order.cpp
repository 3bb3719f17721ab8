#include "plugin/layers/validate_order.h"

#include <algorithm>
#include <string>

#include "plugin/layers/validate_messages.h"

namespace torchplug::plugin::validation {
namespace {

constexpr size_t kRetiredJobs = 1 << 16;

thread_local int jobs_inside = 0;

struct Inside {
  Inside() { ++jobs_inside; }
  ~Inside() { --jobs_inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

void merge(Clock& into, const Clock& other) {
  for (const auto& [stream, number] : other) {
    WorkNumber& known = into[stream];
    known = std::max(known, number);
  }
}

std::string of_device(int32_t device) { return " of device " + std::to_string(device); }

}  // namespace

// ---- streams ----

// The default stream of a device is always there.
StreamNumber Order::number_of(int32_t device, plug_stream stream) {
  const auto [found, is_new] =
      numbers_.try_emplace({device, stream}, static_cast<StreamNumber>(streams_.size()));
  if (is_new) streams_.push_back({device, 0, 0, {}, {}});
  return found->second;
}

void Order::add_stream(int32_t device, plug_stream stream) {
  bool is_known = false;
  {
    std::lock_guard lock(lock_);
    is_known = stream == nullptr || numbers_.contains({device, stream});
    number_of(device, stream);
  }
  if (is_known) {
    violate(Rule::kHandleTwice, "The plugin returned the stream " + hexadecimal(stream) + of_device(device) +
                                    ", which is NULL or exists already.");
  }
}

void Order::add_import(int32_t device, plug_stream stream) {
  std::lock_guard lock(lock_);
  const bool is_known = stream == nullptr || numbers_.contains({device, stream});
  number_of(device, stream);
  if (!is_known) imported_.insert({device, stream});
}

void Order::check_stream(const char* function, int32_t device, plug_stream stream) {
  if (stream == nullptr) return;
  {
    std::lock_guard lock(lock_);
    if (numbers_.contains({device, stream})) return;
  }
  violate(Rule::kStreamHandle, std::string(function) + " was given " + hexadecimal(stream) +
                                   ", which is not a stream" + of_device(device) + ".");
}

void Order::remove_stream(int32_t device, plug_stream stream) {
  bool is_ours = stream != nullptr;
  {
    std::lock_guard lock(lock_);
    if (imported_.contains({device, stream})) is_ours = false;
    if (is_ours) numbers_.erase({device, stream});
  }
  if (!is_ours) {
    violate(Rule::kStreamHandle, "stream_destroy was given " + hexadecimal(stream) +
                                     ", which is the default stream or an imported one" + of_device(device) +
                                     ".");
  }
}

Order::Place Order::enqueue(int32_t device, plug_stream stream) {
  std::lock_guard lock(lock_);
  const StreamNumber number = number_of(device, stream);
  Stream& on = streams_[number];
  on.clock[number] = ++on.last;
  return {number, on.last};
}

bool Order::has_passed(const Place& place) {
  std::lock_guard lock(lock_);
  return streams_[place.stream].passed >= place.number;
}

Clock Order::stream_clock(int32_t device, plug_stream stream) {
  std::lock_guard lock(lock_);
  return streams_[number_of(device, stream)].clock;
}

Clock Order::device_clock(int32_t device) {
  Clock clock;
  std::lock_guard lock(lock_);
  for (const Stream& stream : streams_) {
    if (stream.device == device) merge(clock, stream.clock);
  }
  return clock;
}

void Order::learn(const char* function, const Clock& clock, bool released) {
  bool is_early = false;
  bool is_unreleased = false;
  {
    std::lock_guard lock(lock_);
    for (const auto& [place, number] : clock) {
      Stream& stream = streams_[place];
      stream.passed = std::max(stream.passed, number);
      for (const auto& [enqueued, job] : stream.jobs) {
        if (enqueued > number) break;
        is_early = is_early || !job->has_ended;
        is_unreleased = is_unreleased || (job->has_ended && !job->is_released);
      }
    }
  }
  if (is_early) {
    violate(Rule::kSyncEarly,
            std::string(function) + " says that work is done, but a host function before it has not ended.");
  }
  if (released && is_unreleased) {
    violate(Rule::kReleaseLate,
            std::string(function) + " returned before the argument of a host function was released.");
  }
}

// ---- events ----

void Order::add_event(int32_t device, plug_event event, uint32_t flags, bool is_imported) {
  bool is_new = false;
  {
    std::lock_guard lock(lock_);
    is_new =
        event != nullptr && events_.try_emplace(event, Event{device, flags, is_imported, false, {}}).second;
  }
  if (!is_new) {
    violate(Rule::kHandleTwice, "The plugin returned the event " + hexadecimal(event) + of_device(device) +
                                    ", which is NULL or exists already.");
  }
}

void Order::check_event(const char* function, int32_t device, plug_event event) {
  {
    std::lock_guard lock(lock_);
    const auto found = events_.find(event);
    if (found != events_.end() && found->second.device == device) return;
  }
  violate(Rule::kEventHandle, std::string(function) + " was given " + hexadecimal(event) +
                                  ", which is not an event" + of_device(device) + ".");
}

void Order::remove_event(plug_event event) {
  std::lock_guard lock(lock_);
  events_.erase(event);
}

size_t Order::events() {
  std::lock_guard lock(lock_);
  return events_.size();
}

bool Order::is_timed(plug_event event) {
  std::lock_guard lock(lock_);
  const auto found = events_.find(event);
  return found != events_.end() && (found->second.flags & PLUG_EVENT_TIMING) != 0;
}

bool Order::is_never_recorded(plug_event event) {
  std::lock_guard lock(lock_);
  const auto found = events_.find(event);
  return found != events_.end() && !found->second.is_recorded && !found->second.is_imported;
}

void Order::record(plug_event event, const Clock& clock) {
  std::lock_guard lock(lock_);
  const auto found = events_.find(event);
  if (found == events_.end()) return;
  found->second.is_recorded = true;
  // What is captured has not run when a replay's events say so: it proves nothing.
  found->second.clock = is_capturing() ? Clock{} : clock;
}

Clock Order::event_clock(plug_event event) {
  std::lock_guard lock(lock_);
  const auto found = events_.find(event);
  return found == events_.end() ? Clock{} : found->second.clock;
}

void Order::wait(plug_event event, int32_t device, plug_stream stream) {
  std::lock_guard lock(lock_);
  const auto found = events_.find(event);
  if (found != events_.end()) merge(streams_[number_of(device, stream)].clock, found->second.clock);
}

// ---- captures ----

bool Order::is_capturing(int32_t device, plug_stream stream) {
  std::lock_guard lock(lock_);
  return capturing_.contains({device, stream});
}

void Order::check_capture_begin(int32_t device, plug_stream stream) {
  if (!is_capturing(device, stream)) return;
  violate(Rule::kCaptureOrder,
          "capture_begin was given a stream" + of_device(device) + " that is already capturing.");
}

void Order::begin_capture(int32_t device, plug_stream stream) {
  std::lock_guard lock(lock_);
  capturing_.insert({device, stream});
  capturing_count_ = capturing_.size();
}

void Order::check_capture_end(int32_t device, plug_stream stream) {
  if (is_capturing(device, stream)) return;
  violate(Rule::kCaptureOrder,
          "capture_end was given a stream" + of_device(device) + " that is not capturing.");
}

void Order::end_capture(int32_t device, plug_stream stream) {
  std::lock_guard lock(lock_);
  capturing_.erase({device, stream});
  capturing_count_ = capturing_.size();
}

void Order::add_capture(int32_t device, plug_capture capture) {
  std::unique_lock lock(lock_);
  const bool is_new = capture != nullptr && captures_.try_emplace(capture, Capture{device}).second;
  lock.unlock();
  if (!is_new) {
    violate(Rule::kHandleTwice, "The plugin returned the capture " + hexadecimal(capture) +
                                    of_device(device) + ", which is NULL or exists already.");
  }
}

void Order::check_capture(const char* function, int32_t device, plug_capture capture) {
  {
    std::lock_guard lock(lock_);
    const auto found = captures_.find(capture);
    if (found != captures_.end() && found->second.device == device) return;
  }
  violate(Rule::kCaptureHandle, std::string(function) + " was given " + hexadecimal(capture) +
                                    ", which is not a capture" + of_device(device) + ".");
}

// With lock_ held.
Clock Order::replays_of(plug_capture capture) const {
  const auto found = captures_.find(capture);
  return found == captures_.end() ? Clock{} : found->second.replays;
}

void Order::check_replay(plug_capture capture, int32_t device, plug_stream stream) {
  {
    std::lock_guard lock(lock_);
    const StreamNumber here = number_of(device, stream);
    const Clock& known = streams_[here].clock;
    const auto is_awaited = [&](const auto& replay) {
      const auto& [place, number] = replay;
      const auto found = known.find(place);
      return place == here || streams_[place].passed >= number ||
             (found != known.end() && found->second >= number);
    };
    const Clock replays = replays_of(capture);
    if (std::all_of(replays.begin(), replays.end(), is_awaited)) return;
  }
  violate(Rule::kCaptureInUse, "capture_replay was given a stream" + of_device(device) +
                                   " that does not wait for the replay of the capture on another stream.");
}

void Order::note_replay(plug_capture capture, const Place& place) {
  std::lock_guard lock(lock_);
  const auto found = captures_.find(capture);
  // Events that are recorded while something captures prove nothing, and would be missed later.
  if (found != captures_.end() && !is_capturing()) found->second.replays[place.stream] = place.number;
}

void Order::check_destroy(plug_capture capture) {
  {
    std::lock_guard lock(lock_);
    const Clock replays = replays_of(capture);
    const auto is_done = [&](const auto& replay) { return streams_[replay.first].passed >= replay.second; };
    if (std::all_of(replays.begin(), replays.end(), is_done)) return;
  }
  violate(Rule::kCaptureInUse, "capture_destroy was given " + hexadecimal(capture) +
                                   ", of which a replay may still run. Wait for it first.");
}

void Order::remove_capture(plug_capture capture) {
  std::lock_guard lock(lock_);
  captures_.erase(capture);
}

size_t Order::captures() {
  std::lock_guard lock(lock_);
  return captures_.size();
}

// ---- host functions ----

TrackedJob* Order::make_job(int32_t device, plug_stream stream, void (*fn)(void*, plug_status),
                            void (*release)(void*), void* argument) {
  std::lock_guard lock(lock_);
  const StreamNumber number = number_of(device, stream);
  auto job = std::make_unique<TrackedJob>(
      TrackedJob{*this, fn, release, argument, device, number, streams_[number].last, is_capturing()});
  TrackedJob* made = job.get();
  jobs_.emplace(made, std::move(job));
  return made;
}

// Only now: a sync that began before this need not have waited for it.
void Order::job_enqueued(TrackedJob* job) {
  std::lock_guard lock(lock_);
  if (job->is_captured || job->is_released) return;
  Stream& stream = streams_[job->stream];
  job->number = ++stream.last;
  stream.clock[job->stream] = stream.last;
  stream.jobs.emplace(job->number, job);
}

void Order::job_refused(TrackedJob* job) {
  std::lock_guard lock(lock_);
  retire(job);
}

void Order::retire(TrackedJob* job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  if (job->number != 0) streams_[job->stream].jobs.erase(job->number);
  retired_.push_back(std::move(found->second));
  jobs_.erase(found);
  if (retired_.size() > kRetiredJobs) retired_.pop_front();
}

void Order::run_job(void* argument, plug_status status) {
  auto* job = static_cast<TrackedJob*>(argument);
  Order& order = job->order;
  bool runs_again = false;
  bool is_early = false;
  {
    std::lock_guard lock(order.lock_);
    runs_again = job->is_released || (job->has_begun && !job->is_captured);
    job->has_begun = true;
    for (const auto& [number, earlier] : order.streams_[job->stream].jobs) {
      if (number > job->after) break;
      is_early = is_early || (earlier != job && !earlier->has_ended && !job->is_captured);
    }
  }
  // The core's function is not run again: what it works on may be gone.
  if (runs_again) {
    note(Rule::kHostFuncTwice, "A host function of device " + std::to_string(job->device) +
                                   " was run again, or after its argument was released.");
    return;
  }
  if (is_early) {
    note(Rule::kHostFuncOrder, "A host function of device " + std::to_string(job->device) +
                                   " was run before one enqueued earlier on its stream had ended.");
  }
  {
    const Inside inside;
    job->fn(job->argument, status);
  }
  std::lock_guard lock(order.lock_);
  job->has_ended = true;
}

void Order::release_job(void* argument) {
  auto* job = static_cast<TrackedJob*>(argument);
  Order& order = job->order;
  bool is_wrong = false;
  bool is_again = false;
  {
    std::lock_guard lock(order.lock_);
    is_again = std::exchange(job->is_released, true);
    is_wrong = is_again || (!job->is_captured && !job->has_ended);
  }
  if (is_wrong) {
    note(Rule::kReleaseTwice, "The argument of a host function of device " + std::to_string(job->device) +
                                  " was released " +
                                  (is_again ? "twice." : "before the function had ended."));
  }
  if (is_again) return;
  {
    const Inside inside;
    job->release(job->argument);
  }
  std::lock_guard lock(order.lock_);
  order.retire(job);
}

bool Order::is_inside_job() { return jobs_inside != 0; }

}  // namespace torchplug::plugin::validation
