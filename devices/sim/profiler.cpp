#include "profiler.h"

#include <chrono>
#include <mutex>
#include <vector>

#include "device.h"
#include "error.h"

namespace torchplug::sim {
namespace {

// Of one device: more than the host launches between two visits, unless it has stopped coming.
constexpr std::size_t kMostRecords = std::size_t{1} << 18;

struct Records {
  std::mutex mutex;  // guards what follows
  std::vector<plug_record> kept;
  std::uint64_t lost = 0;
};

// By device. Never destroyed: workers may outlive the destructors of the process.
Records& records_of(std::int32_t device) {
  static auto& all =
      *std::make_unique<std::vector<Records>>(static_cast<std::size_t>(device_count())).release();
  return all[static_cast<std::size_t>(device)];
}

thread_local std::uint64_t current_label = 0;

std::int64_t now() noexcept {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

constinit std::atomic<bool> Recording::on_{false};

struct Switch {
  static plug_status start() noexcept {
    Recording::on_.store(true, std::memory_order_relaxed);
    return PLUG_OK;
  }
  static plug_status stop() noexcept {
    Recording::on_.store(false, std::memory_order_relaxed);
    return PLUG_OK;
  }
};

std::uint64_t Recording::label() noexcept { return current_label; }

Recording::Recording(const Stream& stream, const Activity& activity) noexcept
    : Recording(stream, activity, current_label) {}

Recording::Recording(const Stream& stream, const Activity& activity, std::uint64_t label) noexcept {
  record_.size = sizeof record_;
  record_.kind = activity.kind;
  record_.device = stream.device();
  record_.source = activity.source;
  record_.target = activity.target;
  record_.stream = stream.handle();
  record_.label = label;
  record_.bytes = activity.bytes;
  record_.name = activity.name;
}

void Recording::begin() noexcept { record_.start = now(); }

void Recording::end() noexcept {
  record_.end = now();
  Records& records = records_of(record_.device);
  const std::lock_guard lock(records.mutex);
  if (records.kept.size() == kMostRecords) {
    ++records.lost;
    return;
  }
  try {
    records.kept.push_back(record_);
  } catch (const std::bad_alloc&) {
    ++records.lost;
  }
}

namespace {

plug_status read_clock(std::int32_t device, std::int64_t* ns) {
  return guarded([&] {
    any_device(device);
    *ns = now();
  });
}

// The label is the thread's, whatever it launches on.
plug_status set_label(std::int32_t device, plug_stream stream, std::uint64_t label) {
  return guarded([&] {
    open_device(device).stream(stream);
    current_label = label;
  });
}

plug_status drain(std::int32_t device, void (*take)(void*, const plug_record*), void* context,
                  std::uint64_t* lost) {
  return guarded([&] {
    any_device(device);
    Records& records = records_of(device);
    std::vector<plug_record> drained;
    {
      const std::lock_guard lock(records.mutex);
      drained.swap(records.kept);
      *lost = std::exchange(records.lost, 0);
    }
    for (const plug_record& record : drained) take(context, &record);
  });
}

}  // namespace

const plug_profiler kProfiler = {
    .size = sizeof(plug_profiler),
    .reserved = 0,
    .start = Switch::start,
    .stop = Switch::stop,
    .clock = read_clock,
    .label = set_label,
    .drain = drain,
};

}  // namespace torchplug::sim
