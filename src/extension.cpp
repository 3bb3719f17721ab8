// What include/torchplug/torchplug.hpp gives to extensions. activate, check, device_count,
// current_device, set_current_device, plugin_index, synchronize_device and memory_of(tensor) are the core's
// own functions, declared in both places; this file includes both, so that they cannot differ.

#include "torchplug/torchplug.hpp"

#include <c10/util/Exception.h>

#include <memory>
#include <utility>

#include "activate.h"
#include "aten/transfer.h"
#include "runtime/capture.h"
#include "runtime/device_allocator.h"
#include "runtime/stream.h"

namespace torchplug {
namespace {

DeviceIndex or_current(DeviceIndex device) { return device < 0 ? current_device() : device; }

Stream stream_of(const c10::Stream& stream) {
  TORCH_CHECK(stream.device_type() == kDeviceType, "Expected a stream of device '", active_module().name,
              "', but got one of '", stream.device(), "'. torchplug::current_stream() gives one.");
  return Stream(stream);
}

class FunctionJob final : public HostJob {
 public:
  explicit FunctionJob(std::function<void()> function) : function_(std::move(function)) {}
  void run() override { function_(); }

 private:
  std::function<void()> function_;
};

void* host_address(const Placement& placement) {
  return placement.block->view == nullptr ? nullptr : placement.host_address();
}

}  // namespace

const std::string& plugin_name() { return active_module().name; }

const std::string& plugin_path() { return active_module().path; }

const plug_runtime& plugin_runtime() { return runtime(); }

c10::Stream current_stream(DeviceIndex device) { return Stream::current(or_current(device)).unwrap(); }

c10::Stream default_stream(DeviceIndex device) { return Stream::default_of(or_current(device)).unwrap(); }

c10::Stream stream_from_pool(int priority, DeviceIndex device) {
  return Stream::from_pool(or_current(device), priority).unwrap();
}

void set_current_stream(const c10::Stream& stream) { stream_of(stream).exchange_current(); }

plug_stream native_handle(const c10::Stream& stream) {
  const Stream ours = stream_of(stream);
  ensure_open(ours.device());
  return ours.handle();
}

void enqueue(const c10::Stream& stream, std::function<void()> job) {
  const Stream ours = stream_of(stream);
  ensure_open(ours.device());
  if (runtime().host_func != nullptr || is_capturing(ours)) {
    ours.enqueue(HostJobPtr(std::make_unique<FunctionJob>(std::move(job)).release()));
  } else {
    ours.synchronize();
    job();
  }
}

c10::DataPtr allocate(std::size_t bytes, const c10::Stream& stream) {
  return DeviceAllocator::instance().allocate_on(stream_of(stream), bytes);
}

void record_stream(const c10::DataPtr& data, const c10::Stream& stream) {
  DeviceAllocator::instance().recordStream(data, stream_of(stream).unwrap());
}

plug_mem memory_of(const c10::DataPtr& data) {
  if (data.get() == nullptr) return {nullptr, 0, plugin_index(data.device().index()), 0};
  return DeviceAllocator::instance().locate(data.get()).memory();
}

void* host_view_of(const at::TensorBase& tensor) {
  const c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  if (storage.data() == nullptr) return nullptr;
  Placement placement = DeviceAllocator::instance().locate(storage);
  placement.offset += static_cast<uint64_t>(tensor.storage_offset()) * tensor.itemsize();
  return host_address(placement);
}

void* host_view_of(const c10::DataPtr& data) {
  return data.get() == nullptr ? nullptr : host_address(DeviceAllocator::instance().locate(data.get()));
}

}  // namespace torchplug
