#include "pytorch/overriding.h"

#include <memory>

#include "python/bindings.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

// Entered and left by the same thread.
class OverridingContext {
 public:
  void enter() { held_ = std::make_unique<Overriding>(); }
  void exit(const py::args& /*error*/) { held_.reset(); }

 private:
  std::unique_ptr<Overriding> held_;
};

}  // namespace

void bind_overriding(py::module_& module) {
  py::class_<OverridingContext>(module, "Overriding")
      .def(py::init<>())
      .def("__enter__", &OverridingContext::enter)
      .def("__exit__", &OverridingContext::exit);
}

}  // namespace torchplug::python
