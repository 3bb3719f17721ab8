#include "device.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "error.h"

namespace torchplug::sim {
namespace {

using DeviceList = std::vector<std::unique_ptr<Device>>;

// Never destroyed: workers may outlive the destructors of the process.
DeviceList& devices() {
  static DeviceList& instance = *std::make_unique<DeviceList>().release();
  return instance;
}

constexpr std::array kDtypes = {
    PLUG_I8,         PLUG_I16,          PLUG_I32,         PLUG_I64,     PLUG_U8,
    PLUG_U16,        PLUG_U32,          PLUG_U64,         PLUG_F16,     PLUG_F32,
    PLUG_F64,        PLUG_BF16,         PLUG_C32,         PLUG_C64,     PLUG_C128,
    PLUG_BOOL,       PLUG_F8_E4M3FN,    PLUG_F8_E4M3FNUZ, PLUG_F8_E5M2, PLUG_F8_E5M2FNUZ,
    PLUG_F8_E8M0FNU, PLUG_F4_E2M1FN_X2, PLUG_QI8,         PLUG_QI32,    PLUG_QU8,
};

std::string thread_name(std::int32_t device, const std::string& stream) {
  return "sim" + std::to_string(device) + ":" + stream;
}

}  // namespace

Device::Device(std::int32_t index, std::uint64_t memory)
    : index_(index),
      memory_(memory),
      name_("sim:" + std::to_string(index)),
      default_stream_(std::make_shared<Stream>(thread_name(index, "default"), false, index)),
      streams_{default_stream_} {}

plug_device_info Device::info() const {
  plug_device_info info{};
  info.flags = PLUG_ADDRESSABLE;
  info.name = "torchplug simulated accelerator";
  info.total_bytes = memory_;
  info.alignment = Arena::kAlignment;
  info.dtypes = kDtypes.data();
  info.dtype_count = static_cast<std::uint32_t>(kDtypes.size());
  info.processor_count = std::thread::hardware_concurrency();
  info.capability_major = 1;
  info.capability_minor = 0;
  info.bus_id = name_.c_str();
  constexpr std::array<std::uint8_t, 15> kUuid = {'t', 'o', 'r', 'c', 'h', 'p', 'l', 'u',
                                                  'g', ' ', 's', 'i', 'm', ' ', '#'};
  std::copy(kUuid.begin(), kUuid.end(), info.uuid);
  info.uuid[kUuid.size()] = static_cast<std::uint8_t>(index_);
  info.priority_high = kHighPriority;
  info.priority_low = kLowPriority;
  info.map_bytes = Arena::kMapUnit;
  return info;
}

void Device::open() {
  const std::lock_guard lock(opening_);
  if (is_open()) return;
  arena_ = std::make_unique<Arena>(name_, memory_);
  imports_ = std::make_unique<Imports>(name_);
  open_.store(true, std::memory_order_release);
}

Stream& Device::stream(plug_stream handle) const {
  if (handle == nullptr) return *default_stream_;
  if (handle->device != index_) {
    fail(PLUG_INVALID, "The stream belongs to sim:", handle->device, ", not to ", name_, ".");
  }
  return *handle->stream;
}

Event& Device::event(plug_event handle) const {
  if (handle->device != index_) {
    fail(PLUG_INVALID, "The event belongs to sim:", handle->device, ", not to ", name_, ".");
  }
  return *handle->event;
}

plug_stream Device::create_stream(std::int32_t priority) {
  const std::lock_guard lock(streams_mutex_);
  std::erase_if(streams_, [](const auto& stream) { return stream->is_closed(); });
  const bool high = std::clamp(priority, kHighPriority, kLowPriority) == kHighPriority;
  auto stream = std::make_shared<Stream>(thread_name(index_, std::to_string(++streams_made_)), high, index_);
  auto handle = std::make_unique<plug_stream_s>(plug_stream_s{index_, stream});
  stream->set_handle(handle.get());
  streams_.push_back(std::move(stream));
  return handle.release();
}

plug_stream Device::import_stream(const void* native) const {
  if (native == default_stream_.get()) return nullptr;
  const std::lock_guard lock(streams_mutex_);
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [native](const auto& stream) { return stream.get() == native; });
  if (found == streams_.end()) fail(PLUG_INVALID, native, " is not a stream of ", name_, ".");
  return (*found)->handle();
}

void Device::destroy_stream(plug_stream handle) {
  if (handle == nullptr) fail(PLUG_INVALID, "The default stream of ", name_, " cannot be destroyed.");
  if (const auto capture = stream(handle).capture()) capture->refuse("destroying its stream");
  stream(handle).close();
  const std::unique_ptr<plug_stream_s> owned(handle);
  const std::lock_guard lock(streams_mutex_);
  std::erase_if(streams_, [](const auto& stream) { return stream->is_closed(); });
}

plug_event Device::create_event(std::uint32_t flags) const {
  // An event that is shared has no time: clocks of two processes need not agree.
  const bool is_shared = flags == PLUG_EVENT_SHARED;
  if (!is_shared && (flags & ~std::uint32_t{PLUG_EVENT_TIMING}) != 0) {
    fail(PLUG_UNSUPPORTED, "Event flags ", flags, " are not known to ", name_, ".");
  }
  auto event = is_shared ? std::make_shared<Event>(std::make_shared<SharedRecords>())
                         : std::make_shared<Event>((flags & PLUG_EVENT_TIMING) != 0);
  return std::make_unique<plug_event_s>(plug_event_s{index_, std::move(event)}).release();
}

plug_event Device::import_event(int fd) const {
  auto event = std::make_shared<Event>(std::make_shared<SharedRecords>(fd));
  return std::make_unique<plug_event_s>(plug_event_s{index_, std::move(event)}).release();
}

void Device::destroy_event(plug_event handle) const {
  event(handle);
  const std::unique_ptr<plug_event_s> owned(handle);
}

void Device::synchronize() const {
  std::vector<Marker> busy;
  {
    const std::lock_guard lock(streams_mutex_);
    for (const auto& stream : streams_) {
      if (!stream->is_idle()) busy.push_back(stream->now());
    }
  }
  for (const Marker& marker : busy) marker.wait();
}

void Device::close_streams() const {
  const std::lock_guard lock(streams_mutex_);
  for (const auto& stream : streams_) stream->close();
}

void make_devices(const Options& options) {
  for (std::int32_t index = 0; index < options.devices; ++index) {
    devices().push_back(std::make_unique<Device>(index, options.memory));
  }
}

std::int32_t device_count() noexcept { return static_cast<std::int32_t>(devices().size()); }

Device& any_device(std::int32_t index) {
  if (index < 0 || index >= device_count()) {
    fail(PLUG_INVALID, "Device ", index, " does not exist: the number of sim devices is ", device_count(),
         ".");
  }
  return *devices()[static_cast<std::size_t>(index)];
}

Device& open_device(std::int32_t index) {
  Device& device = any_device(index);
  if (!device.is_open()) fail(PLUG_INVALID, "sim:", index, " has not been opened.");
  return device;
}

}  // namespace torchplug::sim
