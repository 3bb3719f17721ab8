#include "runtime/stream.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "immortal.h"
#include "plugin/record.h"
#include "runtime/capture.h"
#include "runtime/failure.h"

namespace torchplug {
namespace {

// The streams made so far on one device. StreamId 0 is the default stream; id n is made[n - 1]. Making
// one takes the lock; reading does not.
class StreamTable {
 public:
  plug_stream handle(c10::StreamId id) const {
    const auto index = static_cast<size_t>(id - 1);
    TORCH_CHECK(index < count_.load(std::memory_order_acquire), "There is no stream ", id, ".");
    return made_[index];
  }

  c10::StreamId next_of_pool(DeviceIndex device, int priority) {
    std::lock_guard lock(making_lock_);
    Pool& pool = pools_[priority];
    const size_t turn = pool.turn % kPoolSize;
    if (turn == pool.ids.size()) pool.ids.push_back(make(device, priority));
    ++pool.turn;
    return pool.ids[turn];
  }

 private:
  struct Pool {
    size_t turn = 0;
    std::vector<c10::StreamId> ids;
  };

  c10::StreamId make(DeviceIndex device, int priority) {
    const size_t index = count_.load(std::memory_order_relaxed);
    TORCH_CHECK(index < made_.size(), "A device has at most ", made_.size(), " streams.");
    check(runtime().stream_create(plugin_index(device), priority, &made_[index]), "stream_create", device);
    count_.store(index + 1, std::memory_order_release);
    return static_cast<c10::StreamId>(index + 1);
  }

  std::mutex making_lock_;
  std::atomic<size_t> count_{0};
  std::array<plug_stream, 2048> made_{};
  std::map<int, Pool> pools_;
};

StreamTable& table(DeviceIndex device) {
  static auto& tables = *immortal<std::vector<StreamTable>>(static_cast<size_t>(device_count()));
  return tables.at(static_cast<size_t>(device));
}

// Zero is the default stream.
constinit thread_local std::array<c10::StreamId, std::numeric_limits<DeviceIndex>::max() + 1> current_ids{};

// A job runs even if work before it failed: its results are then as wrong as its inputs, and the
// failure is thrown before anybody can read them. Not on a lost device, whose memory may be gone.
void run_job(void* argument, plug_status status) {
  auto* job = static_cast<HostJob*>(argument);
  try {
    if (status == PLUG_LOST) check(status, "host_func", job->device());
    job->run();
  } catch (...) {
    record_failure(job->device(), std::current_exception());
  }
}

void release_job(void* argument) { static_cast<HostJob*>(argument)->release(); }

}  // namespace

Stream Stream::current(DeviceIndex device) {
  if (C10_UNLIKELY(!is_open(device))) device_info(device);
  return {device, current_ids[static_cast<size_t>(device)]};
}

Stream Stream::default_of(DeviceIndex device) {
  device_info(device);
  return {device, 0};
}

Stream Stream::from_pool(DeviceIndex device, int priority) {
  ensure_open(device);
  TORCH_CHECK(active_module().has_streams(), "Device '", active_module().name,
              "' is synchronous: its plugin has no streams, and work is done when the call returns.");
  const DeviceInfo& info = device_info(device);
  const int clamped =
      std::clamp(priority, info.priority_high, std::max(info.priority_high, info.priority_low));
  return {device, table(device).next_of_pool(device, clamped)};
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
  if (any_capture()) {
    if (const auto capture = capture_of(*this)) capture->note(job->name());
  }
  // Without host_func only a stream that captures takes jobs.
  auto* enqueue_job = runtime().host_func != nullptr ? runtime().host_func : record_host_func;
  check(enqueue_job(plugin_index(device_), handle(), run_job, release_job, job.get()), "host_func", device_);
  // Owned by the stream from here on: it calls release_job.
  std::ignore = job.release();
  synchronize_if_blocking();
}

bool Stream::is_idle() const {
  ensure_open(device_);
  refuse_in_capture(*this, "Asking whether a stream is done", "Ask before the capture or after a replay.");
  if (!active_module().has_streams()) return true;
  const plug_status status = runtime().stream_query(plugin_index(device_), handle());
  if (status == PLUG_NOT_READY) return false;
  check(status, "stream_query", device_);
  return true;
}

void Stream::synchronize() const {
  ensure_open(device_);
  refuse_in_capture(*this, "Waiting for a stream", "Wait before the capture or after a replay.");
  if (active_module().has_streams())
    check(runtime().stream_sync(plugin_index(device_), handle()), "stream_sync", device_);
  throw_recorded_failure(device_);
}

void Stream::synchronize_if_blocking() const {
  if (C10_UNLIKELY(launch_blocking()) && !is_capturing(*this)) synchronize();
}

plug_stream Stream::pool_handle() const { return table(device_).handle(id_); }

c10::Stream Stream::unwrap() const {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kDeviceType, device_), id_);
}

void synchronize_device(DeviceIndex device) {
  ensure_open(device);
  refuse_wait_for_device(device);
  check(runtime().device_sync(plugin_index(device)), "device_sync", device);
  throw_recorded_failure(device);
}

}  // namespace torchplug
