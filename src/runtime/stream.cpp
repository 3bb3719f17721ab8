#include "runtime/stream.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "immortal.h"
#include "runtime/failure.h"

namespace torchplug {
namespace {

// The streams made so far on one device. StreamId 0 is the default stream; id n is made[n - 1].
class StreamTable {
 public:
  plug_stream handle(c10::StreamId id) const {
    if (id == 0) return nullptr;
    std::shared_lock lock(table_lock_);
    const auto index = static_cast<size_t>(id - 1);
    TORCH_CHECK(index < made_.size(), "There is no stream ", id, ".");
    return made_[index];
  }

  c10::StreamId next_of_pool(DeviceIndex device, int priority) {
    std::unique_lock lock(table_lock_);
    Pool& pool = pools_[priority];
    const size_t turn = pool.turn % kPoolSize;
    if (turn == pool.ids.size()) {
      plug_stream stream = nullptr;
      check(runtime().stream_create(plugin_index(device), priority, &stream), "stream_create", device);
      made_.push_back(stream);
      pool.ids.push_back(static_cast<c10::StreamId>(made_.size()));
    }
    ++pool.turn;
    return pool.ids[turn];
  }

 private:
  struct Pool {
    size_t turn = 0;
    std::vector<c10::StreamId> ids;
  };

  mutable std::shared_mutex table_lock_;
  std::deque<plug_stream> made_;
  std::map<int, Pool> pools_;
};

StreamTable& table(DeviceIndex device) {
  static auto& tables = *immortal<std::vector<StreamTable>>(static_cast<size_t>(device_count()));
  return tables.at(static_cast<size_t>(device));
}

std::vector<c10::StreamId>& current_ids() {
  thread_local std::vector<c10::StreamId> ids(static_cast<size_t>(device_count()));
  return ids;
}

struct QueuedJob {
  std::unique_ptr<HostJob> job;
  DeviceIndex device;
};

// A job runs even if work before it failed: its results are then as wrong as its inputs, and the
// failure is thrown before anybody can read them. Not on a lost device, whose memory may be gone.
void run_queued(void* argument, plug_status status) {
  auto* queued = static_cast<QueuedJob*>(argument);
  try {
    if (status == PLUG_LOST) check(status, "host_func", queued->device);
    queued->job->run();
  } catch (...) {
    record_failure(queued->device, std::current_exception());
  }
}

void release_queued(void* argument) {
  const std::unique_ptr<QueuedJob> queued(static_cast<QueuedJob*>(argument));
}

}  // namespace

Stream Stream::current(DeviceIndex device) {
  device_info(device);
  return {device, current_ids()[static_cast<size_t>(device)]};
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
  current_ids()[static_cast<size_t>(device_)] = id_;
  return before;
}

void Stream::enqueue(std::unique_ptr<HostJob> job) const {
  auto queued = std::make_unique<QueuedJob>(QueuedJob{std::move(job), device_});
  check(runtime().host_func(plugin_index(device_), handle(), run_queued, release_queued, queued.get()),
        "host_func", device_);
  // Owned by the stream from here on: release_queued takes it back.
  static_cast<void>(queued.release());
  synchronize_if_blocking();
}

bool Stream::is_idle() const {
  ensure_open(device_);
  if (!active_module().has_streams()) return true;
  const plug_status status = runtime().stream_query(plugin_index(device_), handle());
  if (status == PLUG_NOT_READY) return false;
  check(status, "stream_query", device_);
  return true;
}

void Stream::synchronize() const {
  ensure_open(device_);
  if (active_module().has_streams())
    check(runtime().stream_sync(plugin_index(device_), handle()), "stream_sync", device_);
  throw_recorded_failure(device_);
}

void Stream::synchronize_if_blocking() const {
  if (C10_UNLIKELY(launch_blocking())) synchronize();
}

plug_stream Stream::handle() const { return table(device_).handle(id_); }

c10::Stream Stream::unwrap() const {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kDeviceType, device_), id_);
}

void synchronize_device(DeviceIndex device) {
  ensure_open(device);
  check(runtime().device_sync(plugin_index(device)), "device_sync", device);
  throw_recorded_failure(device);
}

}  // namespace torchplug
