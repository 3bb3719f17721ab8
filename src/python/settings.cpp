#include "base/settings.h"

#include "plugin/host.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

py::list settings() {
  py::list rows;
  for (const Setting& setting : kSettings) {
    py::dict row;
    row["name"] = setting.name;
    row["values"] = setting.values;
    row["choices"] = py::tuple(py::cast(values_of(setting)));
    row["default"] = setting.default_value;
    row["meaning"] = setting.meaning;
    row["reader"] = setting.reader;
    rows.append(row);
  }
  return rows;
}

}  // namespace

void bind_settings(py::module_& module) {
  module.def("settings", &settings);
  module.def("cache_directory", &cache_directory);
  module.def("set_log_level", &set_log_level);
}

}  // namespace torchplug::python
