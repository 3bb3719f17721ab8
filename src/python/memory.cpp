#include "python/bindings.h"
#include "runtime/host_allocator.h"

namespace py = pybind11;

namespace torchplug {
namespace {

py::dict values_of(const c10::CachingAllocator::Stat& stat) {
  py::dict values;
  values["current"] = stat.current;
  values["peak"] = stat.peak;
  values["allocated"] = stat.allocated;
  values["freed"] = stat.freed;
  return values;
}

py::dict host_memory_stats() {
  const at::HostStats stats = host_allocator().get_stats();
  py::dict result;
  result["active_bytes"] = values_of(stats.active_bytes);
  result["active_requests"] = values_of(stats.active_requests);
  result["allocated_bytes"] = values_of(stats.allocated_bytes);
  result["allocations"] = values_of(stats.allocations);
  result["num_host_alloc"] = stats.num_host_alloc;
  result["num_host_free"] = stats.num_host_free;
  return result;
}

}  // namespace

void bind_memory(py::module_& module) {
  module.def("host_memory_stats", &host_memory_stats);
  module.def("reset_accumulated_host_memory_stats", [] { host_allocator().reset_accumulated_stats(); });
  module.def("reset_peak_host_memory_stats", [] { host_allocator().reset_peak_stats(); });
}

}  // namespace torchplug
