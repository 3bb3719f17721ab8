// Python's view of the core: thin, so that everything here can also be done from C++.

#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/pybind.h>

#include "activate.h"
#include "aten/ledger.h"
#include "runtime/device.h"
#include "runtime/device_allocator.h"
#include "runtime/generator.h"
#include "runtime/stream.h"

namespace py = pybind11;

namespace torchplug {
namespace {

py::list ledger() {
  py::list entries;
  for (const LedgerEntry& entry : ledger_entries()) {
    entries.append(py::make_tuple(entry.op, way_name(entry.way), entry.count, entry.bytes,
                                  static_cast<double>(entry.nanoseconds) * 1e-9, reason_text(entry.reason)));
  }
  return entries;
}

py::dict properties(int device) {
  const DeviceInfo& info = device_info(static_cast<DeviceIndex>(device));
  py::dict result;
  result["name"] = info.name;
  result["total_memory"] = info.total_bytes;
  result["multi_processor_count"] = info.processor_count;
  result["major"] = info.capability_major;
  result["minor"] = info.capability_minor;
  result["uuid"] = info.uuid;
  result["bus_id"] = info.bus_id;
  result["is_integrated"] = (info.flags & PLUG_INTEGRATED) != 0;
  return result;
}

py::object generator(int device) {
  const auto index = static_cast<DeviceIndex>(device);
  return py::reinterpret_steal<py::object>(THPGenerator_initDefaultGenerator(default_generator(index)));
}

}  // namespace
}  // namespace torchplug

PYBIND11_MODULE(_C, module) {
  using namespace torchplug;
  using NoGil = py::call_guard<py::gil_scoped_release>;
  module.def("activate", &activate, NoGil());
  module.def("is_active", &has_active_module);
  module.def("device_count", [] { return int{device_count()}; });
  module.def("current_device", [] { return int{current_device()}; });
  module.def("set_device", [](int device) { set_current_device(static_cast<DeviceIndex>(device)); });
  module.def("exchange_device",
             [](int device) { return int{exchange_current_device(static_cast<DeviceIndex>(device))}; });
  module.def("open_device", [](int device) { ensure_open(static_cast<DeviceIndex>(device)); }, NoGil());
  module.def("is_open", [](int device) { return is_open(static_cast<DeviceIndex>(device)); });
  module.def("is_forked", &is_forked);
  module.def("properties", &properties);
  module.def(
      "synchronize", [](int device) { synchronize_device(static_cast<DeviceIndex>(device)); }, NoGil());
  module.def("default_generator", &generator);
  module.def("ledger", &ledger);
  module.def("reset_ledger", &reset_ledger);
  module.def("time_ledger", &time_ledger);
}
