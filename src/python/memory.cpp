#include <map>
#include <mutex>
#include <thread>

#include "aten/tensor/arguments.h"
#include "aten/tensor/describe.h"
#include "base/immortal.h"
#include "memory/allocator_settings.h"
#include "memory/device_allocator.h"
#include "memory/host_allocator.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

using NoGil = py::call_guard<py::gil_scoped_release>;

DeviceAllocator& allocator() { return DeviceAllocator::instance(); }

py::dict values_of(const c10::CachingAllocator::Stat& stat) {
  py::dict values;
  values["current"] = stat.current;
  values["peak"] = stat.peak;
  values["allocated"] = stat.allocated;
  values["freed"] = stat.freed;
  return values;
}

py::dict values_of(const c10::CachingAllocator::DurationStat& stat) {
  py::dict values;
  values["total"] = stat.total;
  values["max"] = stat.max;
  values["min"] = stat.min;
  values["count"] = stat.count;
  values["avg"] = stat.count == 0 ? 0 : stat.total / stat.count;
  return values;
}

py::dict host_memory_stats() {
  const at::HostStats stats = host_allocator().get_stats();
  py::dict result;
  result["active_bytes"] = values_of(stats.active_bytes);
  result["active_requests"] = values_of(stats.active_requests);
  result["allocated_bytes"] = values_of(stats.allocated_bytes);
  result["allocations"] = values_of(stats.allocations);
  result["host_alloc_time"] = values_of(stats.host_alloc_time);
  result["host_free_time"] = values_of(stats.host_free_time);
  result["num_host_alloc"] = stats.num_host_alloc;
  result["num_host_free"] = stats.num_host_free;
  return result;
}

// Memory for other libraries, by its address.
class RawMemory {
 public:
  uint64_t allocate(size_t bytes, int device, int64_t stream) {
    const c10::Stream on(c10::Stream::UNSAFE, c10::Device(kDeviceType, to_index(device)), stream);
    c10::DataPtr data = allocator().allocate_on(Stream(on), bytes);
    const auto address = reinterpret_cast<uint64_t>(data.get());
    std::lock_guard lock(held_lock_);
    if (address != 0) held_.emplace(address, std::move(data));
    return address;
  }

  void free(uint64_t address) {
    if (address == 0) return;
    c10::DataPtr data;
    std::lock_guard lock(held_lock_);
    const auto found = held_.find(address);
    TORCH_CHECK_VALUE(found != held_.end(), "No memory at ", address,
                      " was allocated with caching_allocator_alloc, or it has already been freed.");
    data = std::move(found->second);
    held_.erase(found);
  }

 private:
  std::mutex held_lock_;
  std::map<uint64_t, c10::DataPtr> held_;
};

RawMemory& raw_memory() {
  static auto& instance = *immortal<RawMemory>();
  return instance;
}

// All that the calling thread allocates, on whatever stream.
void redirect_thread(int device, const c10::MempoolId_t& pool) {
  const auto is_this_thread = [self = std::this_thread::get_id()](const Stream&) {
    return std::this_thread::get_id() == self;
  };
  allocator().begin_allocate_to_pool(to_index(device), pool, is_this_thread);
}

void observe_out_of_memory(py::function function) {
  // Never destroyed: the interpreter may be gone by then.
  auto* observer = immortal<py::function>(std::move(function));
  allocator().add_out_of_memory_observer(
      [observer](DeviceIndex device, size_t requested, size_t allowed, size_t free) {
        py::gil_scoped_acquire gil;
        (*observer)(int{device}, requested, allowed, free);
      });
}

// Where the first element lies, as the plugin knows it.
py::tuple memory_of_tensor(const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(is_on_device(tensor), "memory_of() is for a tensor of device '", device_type_name(),
                    "', and this one is on ", tensor.device(), ".");
  TORCH_CHECK_VALUE(tensor.has_storage(), "memory_of() is for a strided tensor, and this one is ",
                    tensor.layout(), ". Ask for its parts, such as values().");
  ensure_open(tensor.device().index());
  const plug_mem memory = memory_of(tensor);
  return py::make_tuple(reinterpret_cast<uint64_t>(memory.base), memory.offset, memory.device, memory.flags);
}

void bind_host_memory(py::module_& module) {
  module.def("host_memory_stats", &host_memory_stats);
  module.def("reset_accumulated_host_memory_stats", [] { host_allocator().reset_accumulated_stats(); });
  module.def("reset_peak_host_memory_stats", [] { host_allocator().reset_peak_stats(); });
  module.def("empty_host_cache", [] { host_allocator().empty_cache(); }, NoGil());
}

void bind_memory_sources(py::module_& module) {
  const py::class_<MemorySource, std::shared_ptr<MemorySource>> source(module, "MemorySource");
  module.def("pluggable_memory", [](uint64_t allocate, uint64_t release) {
    return pluggable_memory(reinterpret_cast<AllocateFunction>(allocate),
                            reinterpret_cast<ReleaseFunction>(release));
  });
  module.def("replace_memory_source",
             [](std::shared_ptr<MemorySource> source) { allocator().replace_source(std::move(source)); });
  module.def("has_plugins_memory", [] { return allocator().has_plugins_source(); });
  module.def("set_caching", [](bool caching) { allocator().set_caching(caching); });
  module.def("is_caching", [] { return allocator().is_caching(); });
}

void bind_memory_pools(py::module_& module) {
  module.def("new_pool_id", &DeviceAllocator::new_pool_id);
  module.def(
      "make_pool",
      [](int device, const c10::MempoolId_t& pool, std::shared_ptr<MemorySource> source, bool may_split,
         bool use_on_oom) {
        allocator().make_pool(to_index(device), pool, {std::move(source), may_split, use_on_oom});
      },
      NoGil());
  module.def("begin_allocate_to_pool", &redirect_thread, NoGil());
  module.def(
      "end_allocate_to_pool",
      [](int device, const c10::MempoolId_t& pool) {
        allocator().end_allocate_to_pool(to_index(device), pool);
      },
      NoGil());
  module.def(
      "release_pool",
      [](int device, const c10::MempoolId_t& pool) { allocator().release_pool(to_index(device), pool); },
      NoGil());
  module.def("pool_users", [](int device, const c10::MempoolId_t& pool) {
    return allocator().users_of_pool(to_index(device), pool);
  });
}

}  // namespace

void bind_memory(py::module_& module) {
  bind_host_memory(module);
  bind_memory_sources(module);
  bind_memory_pools(module);
  module.def("empty_cache", [] { allocator().emptyCache(); }, NoGil());
  module.def("set_memory_fraction", [](int device, double fraction) {
    allocator().set_memory_fraction(to_index(device), fraction);
  });
  module.def("memory_fraction", [](int device) { return allocator().memory_fraction(to_index(device)); });
  module.def("set_allocator_settings", &set_allocator_settings);
  module.def(
      "raw_allocate",
      [](size_t bytes, int device, int64_t stream) { return raw_memory().allocate(bytes, device, stream); },
      NoGil());
  module.def("raw_free", [](uint64_t address) { raw_memory().free(address); }, NoGil());
  module.def("observe_out_of_memory", &observe_out_of_memory);
  module.def("memory_of", &memory_of_tensor);
}

}  // namespace torchplug::python
