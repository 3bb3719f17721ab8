#include "profiler/profiler_stubs.h"

#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <memory>

#include "base/immortal.h"
#include "runtime/event.h"

namespace torchplug::profiler {
namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

struct Stubs final : torch::profiler::impl::ProfilerStubs {
  bool enabled() const override { return true; }

  // On a device that is not in use nothing runs: there the event is null and takes no time.
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event, int64_t* cpu_ns) const override {
    const DeviceIndex current = current_device();
    if (device != nullptr) *device = current;
    if (cpu_ns != nullptr) *cpu_ns = c10::getTime();
    event->reset();
    if (!is_open(current)) return;
    auto made = std::make_shared<Event>(current, /*with_timing=*/true);
    made->record(Stream::current(current));
    *event = std::move(made);
  }

  // In microseconds.
  float elapsed(const ProfilerVoidEventStub* start, const ProfilerVoidEventStub* end) const override {
    const auto* from = static_cast<const Event*>(start->get());
    const auto* to = static_cast<const Event*>(end->get());
    if (from == nullptr || to == nullptr || from->device() != to->device()) return 0;
    if (!is_open(from->device())) return 0;
    from->synchronize();
    to->synchronize();
    return static_cast<float>(from->milliseconds_until(*to) * 1e3);
  }

  // plug.h has no function that shows marks and ranges in a vendor's own tool.
  void mark(const char* /*name*/) const override {}
  void rangePush(const char* /*name*/) const override {}
  void rangePop() const override {}

  void onEachDevice(std::function<void(int)> visit) const override {
    for (DeviceIndex device = 0; device < device_count(); ++device) {
      if (is_open(device)) visit(device);
    }
  }
  void synchronize() const override {
    if (is_open(current_device())) synchronize_device(current_device());
  }
};

}  // namespace

void register_profiler_stubs() {
  static auto& stubs = *immortal<Stubs>();
  torch::profiler::impl::registerPrivateUse1Methods(&stubs);
}

}  // namespace torchplug::profiler
