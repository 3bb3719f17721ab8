// What include/torchplug/torchplug.hpp gives to extensions. activate, check, device_count,
// current_device, set_current_device, plugin_index, synchronize_device, memory_of(tensor), backend_notes and
// set_backend_notes are the core's own functions, declared in both places; this file includes both, so that
// they cannot differ.

#include "torchplug/torchplug.hpp"

#include <ATen/EmptyTensor.h>
#include <c10/util/Exception.h>

#include <memory>
#include <utility>

#include "activate.h"
#include "aten/backend_meta.h"
#include "aten/transfer.h"
#include "runtime/capture.h"
#include "runtime/device_allocator.h"
#include "runtime/foreign_memory.h"
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

c10::Stream stream_from_external(void* native, DeviceIndex device) {
  return Stream::from_native(or_current(device), native).unwrap();
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
  return DeviceAllocator::instance().locate(data).memory();
}

void* host_view_of(const at::TensorBase& tensor) {
  const c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  if (storage.data() == nullptr) return nullptr;
  Placement placement = DeviceAllocator::instance().locate(storage);
  placement.offset += static_cast<uint64_t>(tensor.storage_offset()) * tensor.itemsize();
  return host_address(placement);
}

void* host_view_of(const c10::DataPtr& data) {
  return data.get() == nullptr ? nullptr : host_address(DeviceAllocator::instance().locate(data));
}

at::Tensor from_blob(void* base, at::IntArrayRef sizes, at::OptionalIntArrayRef strides, at::ScalarType dtype,
                     DeviceIndex device, std::function<void(void*)> deleter) {
  const size_t itemsize = c10::elementSize(dtype);
  const size_t bytes = strides ? at::detail::computeStorageNbytes(sizes, *strides, itemsize)
                               : at::detail::computeStorageNbytesContiguous(sizes, itemsize);
  std::function<void()> release;
  if (deleter) release = [base, deleter = std::move(deleter)] { deleter(base); };
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes,
                       import_address(or_current(device), base, bytes, std::move(release)),
                       &DeviceAllocator::instance(), /*resizable=*/false);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::scalarTypeToTypeMeta(dtype));
  if (strides) {
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, *strides);
  } else {
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  }
  return tensor;
}

}  // namespace torchplug
