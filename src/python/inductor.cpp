// What Inductor's generated programs call: kernels and allocations, without pybind11 between, whose
// conversions take as long as a small kernel.

#include <c10/util/SmallVector.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/python_numbers.h>

#include <bit>

#include "aten/tensor/device_tensor.h"
#include "inductor/generated_kernel.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

using inductor::GeneratedKernel;
using inductor::Parameter;

GeneratedKernel::Argument to_argument(PyObject* given, Parameter parameter, const GeneratedKernel& kernel) {
  switch (parameter) {
    case Parameter::kRead:
    case Parameter::kWritten:
      TORCH_CHECK_TYPE(THPVariable_Check(given), kernel.name(), " was to be given a tensor, not a ",
                       Py_TYPE(given)->tp_name, ".");
      return {.tensor = &THPVariable_Unpack(given)};
    case Parameter::kInteger: return {.bits = std::bit_cast<uint64_t>(THPUtils_unpackLong(given))};
    case Parameter::kFloat:
      return {.bits = std::bit_cast<uint32_t>(static_cast<float>(THPUtils_unpackDouble(given)))};
  }
  TORCH_INTERNAL_ASSERT(false);
}

PyObject* launch(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  auto& kernel = *static_cast<GeneratedKernel*>(PyCapsule_GetPointer(self, nullptr));
  const auto parameters = kernel.parameters();
  TORCH_CHECK_TYPE(static_cast<size_t>(count) == parameters.size(), kernel.name(), " takes ",
                   parameters.size(), " arguments, but was given ", count, ".");
  c10::SmallVector<GeneratedKernel::Argument, 16> arguments;
  for (size_t i = 0; i < parameters.size(); ++i)
    arguments.push_back(to_argument(given[i], parameters[i], kernel));
  {
    const py::gil_scoped_release no_gil;
    kernel.launch({arguments.data(), arguments.size()});
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

c10::SmallVector<int64_t, 6> to_numbers(PyObject* tuple) {
  TORCH_CHECK_TYPE(PyTuple_Check(tuple), "Sizes and strides are tuples.");
  c10::SmallVector<int64_t, 6> numbers;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    numbers.push_back(THPUtils_unpackLong(PyTuple_GET_ITEM(tuple, i)));
  return numbers;
}

// (index, sizes, strides, dtype): an uninitialised tensor of that device, for its current stream.
PyObject* empty_strided(PyObject* /*module*/, PyObject* const* given, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(count == 4 && THPDtype_Check(given[3]),
                   "empty_strided takes a device's index, sizes, strides and a dtype.");
  const Stream stream = Stream::current(to_index(static_cast<int>(THPUtils_unpackLong(given[0]))));
  return THPVariable_Wrap(aten::empty_on(stream, to_numbers(given[1]), to_numbers(given[2]),
                                         reinterpret_cast<THPDtype*>(given[3])->scalar_type));
  END_HANDLE_TH_ERRORS
}

PyCFunction as_function(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef launch_method{"launch", as_function(&launch), METH_FASTCALL, nullptr};
PyMethodDef empty_method{"empty_strided", as_function(&empty_strided), METH_FASTCALL, nullptr};

// What launches the kernel whose entry lies at the address.
py::object make_kernel(uintptr_t entry, const std::string& name, const std::string& parameters) {
  GeneratedKernel& kernel =
      GeneratedKernel::of(reinterpret_cast<GeneratedKernel::Entry>(entry), name, parameters);
  const py::capsule self(&kernel);
  return py::reinterpret_steal<py::object>(PyCFunction_New(&launch_method, self.ptr()));
}

}  // namespace

void bind_inductor(py::module_& module) {
  module.def("generated_kernel", &make_kernel);
  module.def("can_launch_generated", [](int device) { return inductor::can_launch_on(to_index(device)); });
  module.attr("empty_strided") = py::reinterpret_steal<py::object>(PyCFunction_New(&empty_method, nullptr));
}

}  // namespace torchplug::python
