#pragma once
// Python's view of the core: thin, so that everything here can also be done from C++.
// Each function adds one concept to torchplug._C; its file is named after it.

#include <torch/csrc/utils/pybind.h>

namespace torchplug {

void bind_distributed(pybind11::module_& module);
void bind_graph(pybind11::module_& module);
void bind_layers(pybind11::module_& module);
void bind_memory(pybind11::module_& module);
void bind_memory_snapshot(pybind11::module_& module);
void bind_streams(pybind11::module_& module);
void bind_profiler(pybind11::module_& module);
void bind_sharing(pybind11::module_& module);

}  // namespace torchplug
