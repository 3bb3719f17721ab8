#include "python/waiting.h"

#include <utility>

#include "base/immortal.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

py::object& display() {
  static auto& instance = *immortal<py::object>(py::none());
  return instance;
}

}  // namespace

void set_compile_display(py::object shown) { display() = std::move(shown); }

void Wait::tick() {
  stay_if_ending();
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (display().is_none()) return;
  is_shown_ = true;
  display().attr("tick")();
}

void Wait::end() {
  if (waiter_ || compile::is_ending()) stay_if_ending();
  if (!is_shown_) return;
  const py::gil_scoped_acquire gil;
  display().attr("end")();
}

void Wait::stay_if_ending() {
  if (!waiter_) waiter_.emplace();
  waiter_->stay_if_ending();
}

}  // namespace torchplug::python
