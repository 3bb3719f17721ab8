#include "distributed/ddp_timer.h"

#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include <array>
#include <memory>
#include <optional>

#include "runtime/capture.h"
#include "runtime/event.h"

namespace torchplug::distributed {
namespace {

using DeviceEvent = runtime::Event;

class DdpTimer final : public c10d::Timer {
 public:
  explicit DdpTimer(c10::Device device) : device_(device.index()) {}

  void record(Event phase) override {
    Timer::record(phase);
    const Stream stream = Stream::current(device_);
    // A graph's events mark nothing that could be timed outside of it.
    if (is_capturing(stream)) return;
    auto& event = events_.at(static_cast<size_t>(phase));
    if (event == nullptr) event = std::make_unique<DeviceEvent>(device_, /*with_timing=*/true);
    event->record(stream);
  }

  // DDP asks at the start of the next step, for phases that may have been left out (no_sync) and are then
  // older than what they should follow.
  std::optional<int64_t> measureDifference(Event start, Event end) override {
    const auto& from = events_.at(static_cast<size_t>(start));
    const auto& to = events_.at(static_cast<size_t>(end));
    if (from == nullptr || to == nullptr || !can_time()) return std::nullopt;
    from->synchronize();
    to->synchronize();
    const double milliseconds = from->milliseconds_until(*to);
    if (milliseconds < 0) return std::nullopt;
    return static_cast<int64_t>(milliseconds * 1e6);
  }

 private:
  bool can_time() const { return !has_streams(device_) || plugin_has<&plug_runtime::event_elapsed>(device_); }

  DeviceIndex device_;
  std::array<std::unique_ptr<DeviceEvent>, 5> events_;  // by phase
};

}  // namespace

void register_ddp_timer() {
  auto& timers = *c10d::TimerRegistry();
  if (timers.Has(kDeviceType)) return;
  timers.Register(kDeviceType, c10d::RegistererTimerRegistry::DefaultCreator<DdpTimer>);
}

}  // namespace torchplug::distributed
