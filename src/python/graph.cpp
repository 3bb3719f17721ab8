#include "capture/graph.h"

#include <torch/csrc/Generator.h>

#include "python/bindings.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

CaptureMode mode_named(const std::string& name) {
  if (name == "default" || name == "global") return CaptureMode::kGlobal;
  if (name == "thread_local") return CaptureMode::kThread;
  TORCH_CHECK(name == "relaxed", "capture_error_mode is '", name,
              "'. It may be \"global\", \"thread_local\" or \"relaxed\".");
  return CaptureMode::kRelaxed;
}

void register_generator(Graph& graph, const py::object& generator) {
  TORCH_CHECK(THPGenerator_Check(generator.ptr()), "Expected a torch.Generator.");
  graph.register_generator(reinterpret_cast<THPGenerator*>(generator.ptr())->cdata);
}

}  // namespace

void bind_graph(py::module_& module) {
  using NoGil = py::call_guard<py::gil_scoped_release>;
  // It may have to wait for its last replay.
  const py::release_gil_before_calling_cpp_dtor waits_without_gil;
  py::class_<Graph, std::shared_ptr<Graph>>(module, "Graph", waits_without_gil)
      .def(py::init<bool>(), py::arg("keep_graph") = false)
      .def("register_generator_state", &register_generator)
      .def(
          "capture_begin",
          [](Graph& graph, std::optional<c10::MempoolId_t> pool, const std::string& mode) {
            graph.capture_begin(pool.value_or(c10::MempoolId_t{0, 0}), mode_named(mode));
          },
          py::arg("pool") = py::none(), py::arg("capture_error_mode") = "global", NoGil())
      .def("capture_end", &Graph::capture_end, NoGil())
      .def("instantiate", &Graph::instantiate, NoGil())
      .def("replay", &Graph::replay, NoGil())
      .def("reset", &Graph::reset, NoGil())
      .def("pool", &Graph::pool)
      .def("enable_debug_mode", &Graph::enable_debug_mode)
      .def("debug_dump", &Graph::debug_dump, NoGil());
  module.def("graph_pool_handle", &graph_pool_handle);
  module.def("is_current_stream_capturing", &is_current_stream_capturing);
}

}  // namespace torchplug::python
