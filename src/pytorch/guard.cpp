#include "pytorch/guard.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <memory>
#include <utility>

#include "base/dtype.h"
#include "base/immortal.h"
#include "memory/device_allocator.h"
#include "runtime/event.h"
#include "runtime/stream.h"

namespace torchplug::pytorch {
namespace {

DeviceIndex index_of(const c10::Device& device) {
  return device.has_index() ? device.index() : current_device();
}

// PyTorch keeps an event as a void*; this is what it points at.
Event& event_at(void* event) { return *static_cast<Event*>(event); }

// What put_into() hands to Guard::record, which records nothing then.
thread_local std::unique_ptr<Event> event_to_put;

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDeviceType; }

  c10::Device exchangeDevice(c10::Device device) const override {
    return {kDeviceType, exchange_current_device(device.index())};
  }
  c10::Device getDevice() const override { return {kDeviceType, current_device()}; }
  void setDevice(c10::Device device) const override { exchange_current_device(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    unchecked_set_current_device(device.index());
  }
  c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }
  c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
    c10::DeviceCapability capability;
    capability.capability_data.capability_bits = 0;
    for (plug_dtype dtype : device_info(index_of(device)).dtypes) {
      const auto type = to_scalar_type(dtype);
      // How a quantized or packed number is to be read, its dtype alone does not say: nothing converts to it.
      const bool is_number = type && !c10::isQIntType(*type) && *type != c10::ScalarType::Float4_e2m1fn_x2;
      if (is_number) capability.capability_data.capability_bits |= uint64_t{1} << static_cast<int>(*type);
    }
    return capability;
  }

  c10::Stream getStream(c10::Device device) const override {
    return Stream::current(index_of(device)).unwrap();
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return Stream::default_of(index_of(device)).unwrap();
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return Stream::from_pool(index_of(device), priority).unwrap();
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool is_high_priority) const override {
    const DeviceIndex index = index_of(device);
    return Stream::from_pool(index, is_high_priority ? device_info(index).priority_high : 0).unwrap();
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return Stream(stream).exchange_current().unwrap();
  }
  bool queryStream(const c10::Stream& stream) const override { return Stream(stream).is_idle(); }
  void synchronizeStream(const c10::Stream& stream) const override { Stream(stream).synchronize(); }
  void synchronizeDevice(const c10::DeviceIndex device) const override { synchronize_device(device); }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return Stream(stream).native_handle();
  }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex device,
              const c10::EventFlag flag) const override {
    if (event_to_put != nullptr) {
      *event = event_to_put.release();
      return;
    }
    const DeviceIndex owner = device < 0 ? stream.device_index() : device;
    if (*event == nullptr) {
      *event = std::make_unique<Event>(owner, flag == c10::EventFlag::BACKEND_DEFAULT).release();
    }
    event_at(*event).record(Stream(stream));
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) event_at(event).block(Stream(stream));
  }
  bool queryEvent(void* event) const override { return event == nullptr || event_at(event).is_ready(); }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) event_at(event).synchronize();
  }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex /*device*/) const override {
    TORCH_CHECK(start != nullptr && end != nullptr, "Both events must be recorded before elapsed_time.");
    return event_at(start).milliseconds_until(event_at(end));
  }
  void destroyEvent(void* event, const c10::DeviceIndex /*device*/) const noexcept override {
    const std::unique_ptr<Event> owned(static_cast<Event*>(event));
  }

  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    DeviceAllocator::instance().recordStream(data, stream);
  }
};

}  // namespace

void put_into(c10::Event& event, std::unique_ptr<Event> ours) {
  TORCH_CHECK(!event.was_marked_for_recording(),
              "The event has already been recorded and cannot become a shared event.");
  const Stream stream = Stream::default_of(ours->device());
  event_to_put = std::move(ours);
  event.record(stream.unwrap());
}

Event* event_behind(const c10::Event& event) { return static_cast<Event*>(event.eventId()); }

void register_guard() {
  static const auto& guard = *immortal<Guard>();
  static const c10::impl::DeviceGuardImplRegistrar registrar(kDeviceType, &guard);
}

}  // namespace torchplug::pytorch
