#include "profiler/plugin_profiler.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace torchplug::python {

void bind_profiler(py::module_& module) {
  using NoGil = py::call_guard<py::gil_scoped_release>;
  module.def("start_plugin_profiler", &start_plugin_profiler, NoGil());
  module.def("stop_plugin_profiler", &stop_plugin_profiler, NoGil());
}

}  // namespace torchplug::python
