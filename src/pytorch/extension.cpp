// What include/torchplug/torchplug.hpp gives to extensions.

#include "torchplug/torchplug.hpp"

#include <c10/util/Exception.h>

#include <memory>
#include <utility>

#include "aten/op/extension_fallback.h"
#include "aten/tensor/backend_meta.h"
#include "aten/tensor/copy_on_write.h"
#include "aten/tensor/describe.h"
#include "aten/tensor/from_blob.h"
#include "aten/tensor/storage.h"
#include "aten/tensor/transfer.h"
#include "memory/device_allocator.h"
#include "plugin/layers/serialize.h"
#include "pytorch/activate.h"
#include "pytorch/active_module.h"
#include "pytorch/operators.h"
#include "pytorch/overriding.h"
#include "pytorch/plain_table.h"
#include "runtime/capture.h"
#include "runtime/stream.h"

namespace torchplug {
namespace {

namespace core = pytorch;

c10::DeviceIndex or_current(c10::DeviceIndex device) { return device < 0 ? core::current_device() : device; }

core::Stream stream_of(const c10::Stream& stream) {
  TORCH_CHECK(stream.device_type() == core::kDeviceType, "Expected a stream of device '",
              core::active_module().name, "', but got one of '", stream.device(),
              "'. Use torchplug::current_stream().");
  return core::Stream(stream);
}

class FunctionJob final : public core::HostJob {
 public:
  explicit FunctionJob(std::function<void()> function) : function_(std::move(function)) {}
  void run() override { function_(); }

 private:
  std::function<void()> function_;
};

void* host_address(const core::Placement& placement) {
  return placement.block->view == nullptr ? nullptr : placement.host_address();
}

}  // namespace

std::string activate(const std::string& path) { return core::activate(path); }

std::vector<std::string> load_operators(const std::string& path) { return core::load_operators(path); }

const std::string& plugin_name() { return core::active_module().name; }

const std::string& plugin_path() { return core::active_module().path; }

const plug_runtime& plugin_runtime() {
  struct ForExtensions {};
  static const plug_runtime& table = pytorch::PlainTable<ForExtensions>::of(core::active_module().runtime);
  return table;
}

const void* extension(const char* name) { return core::find_extension(name); }

void check(plug_status status, const char* what, c10::DeviceIndex device) {
  core::check(status, what, device);
}

c10::DeviceIndex device_count() noexcept { return core::device_count(); }

c10::DeviceIndex current_device() noexcept { return core::current_device(); }

void set_current_device(c10::DeviceIndex device) { core::set_current_device(device); }

std::int32_t plugin_index(c10::DeviceIndex device) { return core::plugin_index(device); }

void synchronize_device(c10::DeviceIndex device) { core::synchronize_device(device); }

c10::Stream current_stream(c10::DeviceIndex device) {
  return core::Stream::current(or_current(device)).unwrap();
}

c10::Stream default_stream(c10::DeviceIndex device) {
  return core::Stream::default_of(or_current(device)).unwrap();
}

c10::Stream stream_from_pool(int priority, c10::DeviceIndex device) {
  return core::Stream::from_pool(or_current(device), priority).unwrap();
}

c10::Stream stream_from_external(void* native, c10::DeviceIndex device) {
  return core::Stream::from_native(or_current(device), native).unwrap();
}

void set_current_stream(const c10::Stream& stream) { stream_of(stream).exchange_current(); }

plug_stream native_handle(const c10::Stream& stream) {
  const core::Stream ours = stream_of(stream);
  core::ensure_open(ours.device());
  return ours.handle();
}

void enqueue(const c10::Stream& stream, std::function<void()> job) {
  const core::Stream ours = stream_of(stream);
  core::ensure_open(ours.device());
  if (core::plugin_has<&plug_runtime::host_func>(ours.device()) || core::is_capturing(ours)) {
    ours.enqueue(core::HostJobPtr(std::make_unique<FunctionJob>(std::move(job)).release()));
  } else {
    ours.synchronize();
    job();
  }
}

c10::DataPtr allocate(std::size_t bytes, const c10::Stream& stream) {
  return core::DeviceAllocator::instance().allocate_on(stream_of(stream), bytes);
}

void record_stream(const c10::DataPtr& data, const c10::Stream& stream) {
  core::DeviceAllocator::instance().recordStream(data, stream_of(stream).unwrap());
}

plug_mem memory_of(const at::TensorBase& tensor) {
  core::own_memory(tensor);  // it may be written
  return core::memory_of(tensor);
}

plug_mem memory_of(const c10::DataPtr& data) {
  if (data.get() == nullptr) return {nullptr, 0, plugin_index(data.device().index()), 0};
  return core::DeviceAllocator::instance().locate(data).memory();
}

void* host_view_of(const at::TensorBase& tensor) {
  const c10::StorageImpl& storage = core::storage_of(*tensor.unsafeGetTensorImpl());
  if (storage.data() == nullptr) return nullptr;
  core::Placement placement = core::DeviceAllocator::instance().locate(storage);
  placement.offset += static_cast<uint64_t>(tensor.storage_offset()) * tensor.itemsize();
  return host_address(placement);
}

void* host_view_of(const c10::DataPtr& data) {
  return data.get() == nullptr ? nullptr : host_address(core::DeviceAllocator::instance().locate(data));
}

at::Tensor from_blob(void* base, at::IntArrayRef sizes, at::OptionalIntArrayRef strides, at::ScalarType dtype,
                     c10::DeviceIndex device, std::function<void(void*)> deleter) {
  return core::from_blob(base, sizes, strides, dtype, or_current(device), std::move(deleter));
}

class Overriding::State : public core::Overriding {};

Overriding::Overriding() : state_(std::make_unique<State>()) {}

Overriding::~Overriding() = default;

void set_fallback(Fallback fallback) { core::set_extension_fallback(std::move(fallback)); }

BackendNotes backend_notes(const at::TensorBase& tensor) { return core::backend_notes(tensor); }

void set_backend_notes(const at::TensorBase& tensor, BackendNotes notes) {
  core::set_backend_notes(tensor, std::move(notes));
}

}  // namespace torchplug
