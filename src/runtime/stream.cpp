#include "runtime/stream.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "base/immortal.h"
#include "plugin/layers/emulated_capture.h"
#include "runtime/capture.h"
#include "runtime/failure.h"
#include "runtime/submit.h"

namespace torchplug::runtime {
namespace {

using R = plug_runtime;

// The streams known so far of one device. StreamId 0 is the default stream; id n is known_[n - 1]. Adding
// one takes the lock; reading does not.
class StreamTable {
 public:
  struct Entry {
    plug_stream handle = nullptr;
    int priority = 0;
  };

  const Entry& entry(c10::StreamId id) const {
    const auto index = static_cast<size_t>(id - 1);
    TORCH_CHECK(index < count_.load(std::memory_order_acquire), "There is no stream ", id, ".");
    return known_[index];
  }

  c10::StreamId next_of_pool(DeviceIndex device, int priority) {
    std::lock_guard lock(adding_lock_);
    Pool& pool = pools_[priority];
    const size_t turn = pool.turn % kPoolSize;
    if (turn == pool.ids.size()) pool.ids.push_back(make(device, priority));
    ++pool.turn;
    return pool.ids[turn];
  }

  // The id of a handle, which may be known already.
  c10::StreamId id_of(plug_stream handle) {
    if (handle == nullptr) return 0;
    std::lock_guard lock(adding_lock_);
    const auto* end = known_.begin() + static_cast<std::ptrdiff_t>(count_.load(std::memory_order_relaxed));
    const auto same = [handle](const Entry& entry) { return entry.handle == handle; };
    const auto* found = std::find_if(known_.cbegin(), end, same);
    return found != end ? found - known_.begin() + 1 : add({handle, 0});
  }

  c10::StreamId take_private(DeviceIndex device) {
    std::lock_guard lock(adding_lock_);
    if (free_private_.empty()) return make(device, /*priority=*/0);
    const c10::StreamId id = free_private_.back();
    free_private_.pop_back();
    return id;
  }

  void give_private(c10::StreamId id) {
    std::lock_guard lock(adding_lock_);
    free_private_.push_back(id);
  }

 private:
  struct Pool {
    size_t turn = 0;
    std::vector<c10::StreamId> ids;
  };

  c10::StreamId make(DeviceIndex device, int priority) {
    Entry entry{nullptr, priority};
    call_plugin<&R::stream_create>(device, priority, &entry.handle);
    return add(entry);
  }

  c10::StreamId add(const Entry& entry) {
    const size_t index = count_.load(std::memory_order_relaxed);
    TORCH_CHECK(index < known_.size(), "A device has at most ", known_.size(), " streams.");
    known_[index] = entry;
    count_.store(index + 1, std::memory_order_release);
    return static_cast<c10::StreamId>(index + 1);
  }

  std::mutex adding_lock_;
  std::atomic<size_t> count_{0};
  std::array<Entry, 2048> known_{};
  std::map<int, Pool> pools_;
  std::vector<c10::StreamId> free_private_;
};

StreamTable& table(DeviceIndex device) {
  static auto& tables = *immortal<std::vector<StreamTable>>(static_cast<size_t>(device_count()));
  return tables.at(static_cast<size_t>(device));
}

// Zero is the default stream.
constinit thread_local std::array<c10::StreamId, std::numeric_limits<DeviceIndex>::max() + 1> current_ids{};

void require_streams(DeviceIndex device) {
  TORCH_CHECK(has_streams(device), "Device '", device_type_name(),
              "' is synchronous: its plugin has no streams, and work is done when the call returns.");
}

// What the calling thread runs for a stream, if it does.
constinit thread_local const HostJob* running_job = nullptr;

// A job runs even if work before it failed: its results are then as wrong as its inputs, and the
// failure is thrown before anybody can read them. Not on a lost device, whose memory may be gone.
void run_job(void* argument, plug_status status) {
  auto* job = static_cast<HostJob*>(argument);
  const DeferWarnings warnings(job->receiver());
  const HostJob* outer = std::exchange(running_job, job);
  try {
    if (status == PLUG_LOST) check(status, job->name(), job->device());
    run_observed(*job);
  } catch (...) {
    record_failure_of(job->device(), job->name(), job->sequence(), std::current_exception());
  }
  running_job = outer;
}

void release_job(void* argument) { static_cast<HostJob*>(argument)->release(); }

}  // namespace

Stream Stream::current(DeviceIndex device) {
  if (C10_UNLIKELY(!is_open(device))) check_device(device);
  return {device, current_ids[static_cast<size_t>(device)]};
}

Stream Stream::default_of(DeviceIndex device) {
  check_device(device);
  return {device, 0};
}

Stream Stream::from_pool(DeviceIndex device, int priority) {
  ensure_open(device);
  require_streams(device);
  const DeviceInfo& info = device_info(device);
  const int clamped =
      std::clamp(priority, info.priority_high, std::max(info.priority_high, info.priority_low));
  return {device, table(device).next_of_pool(device, clamped)};
}

Stream Stream::from_native(DeviceIndex device, void* native) {
  ensure_open(device);
  require_streams(device);
  auto* handle = static_cast<plug_stream>(native);
  if (plugin_has<&R::stream_import>(device)) call_plugin<&R::stream_import>(device, native, &handle);
  return of_handle(device, handle);
}

Stream Stream::of_handle(DeviceIndex device, plug_stream handle) {
  return {device, table(device).id_of(handle)};
}

Stream Stream::exchange_current() const {
  const Stream before = current(device_);
  static_cast<void>(handle());  // throws if there is no such stream
  current_ids[static_cast<size_t>(device_)] = id_;
  return before;
}

void Stream::enqueue(HostJobPtr job) const {
  ensure_open(device_);
  job->device_ = device_;
  // Both are set every time: jobs are used again.
  const bool is_captured = is_capturing(*this);
  if (is_captured) refuse_host_work(*this, job->name(), /*is_staged=*/false);
  const bool is_replayed_by_plugin = is_captured && !emulates_capture(device_);
  job->captured_on_ = is_replayed_by_plugin ? std::optional(id_) : std::nullopt;
  // Whoever waits for a replay gets its warnings.
  job->receiver_ = is_captured ? kAnyThread : warning_receiver();
  const Work work{.kind = Work::Kind::kHost, .stream = *this, .function = "host_func", .name = job->name()};
  submit(work, [&](uint64_t number) {
    job->sequence_ = number;
    const plug_status status =
        plugin_has<&R::host_func>(device_)
            ? ask_plugin<&R::host_func>(device_, handle(), run_job, release_job, job.get())
            // Without host_func only a stream that captures takes jobs.
            : record_host_func(module_of(device_), plugin_index(device_), handle(), run_job, release_job,
                               job.get());
    // Owned by the stream from here on: it calls release_job.
    if (status == PLUG_OK) std::ignore = job.release();
    return status;
  });
}

void Stream::run_here(HostJob& job) const {
  synchronize();
  const Work work{.kind = Work::Kind::kHost,
                  .stream = *this,
                  .function = "host_view",
                  .name = job.name(),
                  .is_here = true};
  submit(work, [&](uint64_t /*number*/) -> plug_status {
    job.run();
    return PLUG_OK;
  });
}

bool Stream::is_idle() const {
  ensure_open(device_);
  refuse_in_capture(*this, "Querying a stream", "Ask before the capture or after a replay.");
  if (!has_streams(device_)) return true;
  const plug_status status = ask_plugin<&R::stream_query>(device_, handle());
  if (status == PLUG_NOT_READY) return false;
  check(status, "stream_query", device_);
  return true;
}

void refuse_wait_in_job() {
  TORCH_CHECK(C10_LIKELY(running_job == nullptr), running_job->name(),
              " waited for the device while it ran in the order of a stream, and would have waited for "
              "itself. Wait on the thread that enqueues, before or after.");
}

void Stream::synchronize() const {
  ensure_open(device_);
  refuse_wait_in_job();
  refuse_in_capture(*this, "Waiting for a stream", "Wait before the capture or after a replay.");
  if (has_streams(device_)) {
    const Work wait{.kind = Work::Kind::kSync, .stream = *this, .function = "stream_sync"};
    check(observe(wait, [&] { return ask_plugin<&R::stream_sync>(device_, handle()); }), "stream_sync",
          device_);
  }
  finish_wait(device_);
}

void Stream::synchronize_if_blocking() const {
  if (C10_UNLIKELY(launch_blocking()) && !is_capturing(*this)) synchronize();
}

plug_stream Stream::table_handle() const { return table(device_).entry(id_).handle; }

void* Stream::native_handle() const {
  ensure_open(device_);
  if (!plugin_has<&R::stream_native>(device_)) return handle();
  void* native = nullptr;
  call_plugin<&R::stream_native>(device_, handle(), &native);
  return native;
}

int Stream::priority() const { return id_ == 0 ? 0 : table(device_).entry(id_).priority; }

c10::Stream Stream::unwrap() const {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kDeviceType, device_), id_);
}

PrivateStream::PrivateStream(DeviceIndex device)
    : stream_((ensure_open(device), Stream(device, table(device).take_private(device)))) {}

PrivateStream::~PrivateStream() { table(stream_.device()).give_private(stream_.id()); }

void synchronize_device(DeviceIndex device) {
  ensure_open(device);
  refuse_wait_in_job();
  refuse_wait_for_device(device);
  const Stream stream = Stream::default_of(device);
  const Work wait{.kind = Work::Kind::kSync, .stream = stream, .function = "device_sync"};
  check(observe(wait, [&] { return ask_plugin<&R::device_sync>(device); }), "device_sync", device);
  finish_wait(device);
}

}  // namespace torchplug::runtime
