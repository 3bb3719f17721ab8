#include <c10/util/Exception.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/immortal.h"
#include "python/bindings.h"
#include "runtime/gate.h"
#include "runtime/stream.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

Stream stream_of(int64_t id, DeviceIndex device) {
  return Stream(c10::Stream(c10::Stream::UNSAFE, c10::Device(kDeviceType, device), id));
}

int64_t external_stream(uintptr_t native, DeviceIndex device) {
  // As Python keeps a handle: a number.
  return Stream::from_native(device, reinterpret_cast<void*>(native)).id();
}

// A new one, which nobody else is given.
int64_t private_stream(DeviceIndex device) {
  static std::mutex lock;
  static auto& streams = *immortal<std::deque<PrivateStream>>();
  std::lock_guard guard(lock);
  return streams.emplace_back(device).get().id();
}

uintptr_t native_stream(int64_t id, DeviceIndex device) {
  return reinterpret_cast<uintptr_t>(stream_of(id, device).native_handle());
}

std::unique_ptr<Gate> hold_stream(int64_t id, DeviceIndex device, double limit) {
  return std::make_unique<Gate>(stream_of(id, device), std::chrono::duration<double>(limit));
}

}  // namespace

void bind_streams(py::module_& module) {
  using NoGil = py::call_guard<py::gil_scoped_release>;
  module.def("external_stream", &external_stream, NoGil());
  module.def("private_stream", &private_stream, NoGil());
  module.def("native_stream", &native_stream, NoGil());
  module.def("stream_priority",
             [](int64_t id, DeviceIndex device) { return stream_of(id, device).priority(); });
  module.def("hold_stream", &hold_stream, NoGil());
  py::class_<Gate>(module, "Gate")
      .def("open", &Gate::open)
      .def("wait_until_reached", &Gate::wait_until_reached, NoGil())
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](Gate& self, const py::args&) { self.open(); });
}

}  // namespace torchplug::python
