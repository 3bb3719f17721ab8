#include "python/bindings.h"

#include <ATen/ops/empty.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "aten/kernel/binding.h"
#include "aten/own/own_library.h"
#include "aten/own/own_operator.h"
#include "aten/plan/ledger.h"
#include "base/dtype.h"
#include "pytorch/activate.h"
#include "pytorch/active_module.h"
#include "pytorch/operators.h"
#include "runtime/device.h"
#include "runtime/generator.h"
#include "runtime/memory_copy.h"
#include "runtime/stream.h"

namespace py = pybind11;

namespace torchplug::python {

DeviceIndex to_index(int device) {
  TORCH_CHECK(device >= -1 && device <= std::numeric_limits<DeviceIndex>::max(), "There is no device ",
              device_type_name(), ":", device, ".");
  return static_cast<DeviceIndex>(device);
}

namespace {

std::string device_name_at(const std::string& path) {
  const Module& module = load_module(path);
  check_is_device(module);
  return module.name;
}

py::list ledger() {
  py::list entries;
  for (const LedgerEntry& entry : ledger_entries()) {
    entries.append(py::make_tuple(entry.op, way_name(entry.way), entry.count, entry.bytes,
                                  static_cast<double>(entry.nanoseconds) * 1e-9, entry.why));
  }
  return entries;
}

// Those that PyTorch has a name for too.
py::list named(const std::vector<plug_dtype>& dtypes) {
  py::list result;
  for (plug_dtype dtype : dtypes) {
    const auto type = to_scalar_type(dtype);
    if (type) result.append(py::cast(*type));
  }
  return result;
}

py::dict properties(int device) {
  const DeviceInfo& info = device_info(to_index(device));
  py::dict result;
  result["name"] = info.name;
  result["total_memory"] = info.total_bytes;
  result["multi_processor_count"] = info.processor_count;
  result["major"] = info.capability_major;
  result["minor"] = info.capability_minor;
  result["uuid"] = info.uuid;
  result["bus_id"] = info.bus_id;
  result["is_integrated"] = (info.flags & PLUG_INTEGRATED) != 0;
  result["L2_cache_size"] = info.cache_bytes;
  result["shared_memory_per_block"] = info.shared_bytes;
  result["warp_size"] = info.simd_width;
  result["largest_allocation"] = info.largest_bytes == 0 ? info.total_bytes : info.largest_bytes;
  result["dtypes"] = named(info.dtypes);
  return result;
}

// What a plugin is, device or not.
py::dict describe_module(const Module& plugin) {
  py::dict unused;
  for (const UnusedKernel& kernel : unused_kernels()) unused[py::str(kernel.schema)] = kernel.why;
  py::list operators;
  for (const OwnOperatorEntry& entry : own_operators(plugin)) {
    py::dict facts;
    facts["name"] = entry.name;
    facts["schema"] = entry.schema;
    facts["takes_cpu"] = entry.takes_cpu;
    facts["has_gradient"] = entry.has_gradient;
    operators.append(facts);
  }
  py::dict result;
  result["name"] = plugin.name;
  result["path"] = plugin.path;
  result["version"] = plugin.version;
  result["abi"] = py::make_tuple(PLUG_ABI_MAJOR, plugin.abi_minor);
  result["serialized"] = (plugin.flags & PLUG_SERIALIZE) != 0;
  result["is_device"] = plugin.has_runtime;
  result["operators"] = operators;
  result["unused_kernels"] = unused;
  return result;
}

// The dtype that autocast computes in unless the user says, and those that the user may say; None where the
// plugin leaves it to PyTorch and the devices.
py::tuple autocast() {
  py::object dtype = py::none();
  py::object dtypes = py::none();
  if (const auto& given = active_module().autocast) {
    const auto type = to_scalar_type(given->dtype);
    if (type) dtype = py::cast(*type);
    if (!given->dtypes.empty()) dtypes = named(given->dtypes);
  }
  return py::make_tuple(dtype, dtypes);
}

// The loaded plugin, as `torchplug devices` shows it.
py::dict describe() {
  const Module& plugin = active_module();
  py::dict capabilities;
  for (const Capability& capability : optional_capabilities(plugin.table)) {
    capabilities[capability.name] = capability.present;
  }
  capabilities["profiler"] = plugin.has_profiler();
  py::list kernels;
  for (const plug_kernel& kernel : plugin.kernels) {
    if (!is_own_kernel(plugin, kernel)) kernels.append(kernel.schema);
  }
  py::dict result = describe_module(plugin);
  result["capabilities"] = capabilities;
  result["kernels"] = kernels;
  return result;
}

#ifdef __clang__
constexpr const char* kCompiler = __VERSION__;
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

// What this library was compiled for and with.
py::dict built_with() {
  py::dict result;
  result["torch"] = TORCH_VERSION;
  result["compiler"] = kCompiler;
  result["abi"] = py::make_tuple(PLUG_ABI_MAJOR, PLUG_ABI_MINOR);
  return result;
}

// The address of a table of the plugin's own.
std::optional<uintptr_t> extension_table(const std::string& name) {
  const void* table = find_extension(name.c_str());
  if (table == nullptr) return std::nullopt;
  return reinterpret_cast<uintptr_t>(table);
}

// From the lowest to the highest; a smaller number is a higher priority.
std::pair<int, int> priority_range(int device) {
  const DeviceInfo& info = device_info(to_index(device));
  return {std::max(info.priority_high, info.priority_low), info.priority_high};
}

// A backward of nothing on every device in use, by tensors that Python never sees.
void finish_backward() {
  if (!is_module_loaded()) return;
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    if (!is_open(device)) continue;
    const at::TensorOptions options = at::device(at::Device(kDeviceType, device));
    const at::Tensor leaf = at::empty({1}, options).set_requires_grad(true);
    torch::autograd::grad({leaf.view({1})}, {leaf}, {at::empty({1}, options)});
  }
}

py::object generator(int device) {
  const auto index = to_index(device);
  return py::reinterpret_steal<py::object>(THPGenerator_initDefaultGenerator(default_generator(index)));
}

}  // namespace
}  // namespace torchplug::python

PYBIND11_MODULE(_C, module) {
  using namespace torchplug::python;
  using NoGil = py::call_guard<py::gil_scoped_release>;
  module.def("activate", &activate, NoGil());
  module.def("activate_later", &activate_later, NoGil());
  module.def("load_operators", &load_operators, NoGil());
  module.def("may_own_lack_tensors", &may_own_lack_tensors);
  module.def("describe_operators",
             [](const std::string& path) { return describe_module(load_module(path)); });
  module.def("plugin_name", &device_name_at, NoGil());
  module.def("is_chosen", &is_module_chosen);
  module.def("is_loaded", &is_module_loaded);
  module.def("device_count", [] { return int{device_count()}; });
  module.def("current_device", [] { return int{current_device()}; });
  module.def("set_device", [](int device) { set_current_device(to_index(device)); });
  module.def("exchange_device", [](int device) { return int{exchange_current_device(to_index(device))}; });
  module.def("open_device", [](int device) { ensure_open(to_index(device)); }, NoGil());
  module.def("is_in_use", [](int device) { return is_open(to_index(device)) || is_lost(to_index(device)); });
  module.def("is_forked", &is_forked);
  module.def("properties", &properties);
  module.def("autocast", &autocast);
  module.def("describe", &describe);
  module.def("built_with", &built_with);
  module.def("can_access_peer",
             [](int device, int peer) { return can_access_peer(to_index(device), to_index(peer)); });
  module.def("priority_range", &priority_range);
  module.def("synchronize", [](int device) { synchronize_device(to_index(device)); }, NoGil());
  module.def("finish_backward", &finish_backward, NoGil());
  module.def("default_generator", &generator);
  module.def("seed_default_generators", &seed_default_generators);
  module.def("extension", &extension_table, NoGil());
  module.def("ledger", &ledger);
  module.def("reset_ledger", &reset_ledger);
  module.def("time_ledger", &time_ledger);
  bind_compile(module);
  bind_decompose(module);
  bind_dlpack(module);
  bind_graph(module);
  bind_inductor(module);
  bind_layers(module);
  bind_memory(module);
  bind_memory_snapshot(module);
  bind_overriding(module);
  bind_package(module);
  bind_streams(module);
  bind_torchscript(module);
  bind_profiler(module);
  bind_settings(module);
  bind_sharing(module);
  bind_warnings(module);
#ifdef TORCHPLUG_DISTRIBUTED
  bind_distributed(module);
#endif
}
