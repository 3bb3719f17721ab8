#pragma once
// Python's view of the core: thin, so that everything here can also be done from C++.
// Each function adds one concept to torchplug._C; its file is named after it.

#include <c10/core/Device.h>
#include <torch/csrc/utils/pybind.h>

#include "base/namespaces.h"

namespace torchplug::python {

// A device as Python numbers it; -1 is the current one. Throws for a number that no device can have.
c10::DeviceIndex to_index(int device);

void bind_compile(pybind11::module_& module);
void bind_decompose(pybind11::module_& module);
void bind_dlpack(pybind11::module_& module);
void bind_distributed(pybind11::module_& module);
void bind_graph(pybind11::module_& module);
void bind_inductor(pybind11::module_& module);
void bind_layers(pybind11::module_& module);
void bind_memory(pybind11::module_& module);
void bind_memory_snapshot(pybind11::module_& module);
void bind_overriding(pybind11::module_& module);
void bind_package(pybind11::module_& module);
void bind_streams(pybind11::module_& module);
void bind_torchscript(pybind11::module_& module);
void bind_profiler(pybind11::module_& module);
void bind_settings(pybind11::module_& module);
void bind_sharing(pybind11::module_& module);
void bind_warnings(pybind11::module_& module);

}  // namespace torchplug::python
