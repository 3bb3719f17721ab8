#include "python/argument.h"

#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace py = pybind11;

namespace torchplug::python {

using graph::Argument;

plug_dtype plug_dtype_of(at::ScalarType type) {
  const auto dtype = to_plug_dtype(type);
  TORCH_CHECK(dtype, "plug.h has no ", c10::toString(type), ".");
  return *dtype;
}

Argument argument_of(const py::handle& given) {
  const auto pair = py::cast<py::tuple>(given);
  const auto kind = py::cast<std::string>(pair[0]);
  const py::object content = pair.size() > 1 ? py::object(pair[1]) : py::none();
  if (kind == "none") return {};
  if (kind == "bool") return Argument::boolean(py::cast<bool>(content));
  if (kind == "int") return Argument::integer(py::cast<int64_t>(content));
  if (kind == "float") return Argument::number(py::cast<double>(content));
  if (kind == "complex") {
    const Py_complex number = PyComplex_AsCComplex(content.ptr());
    return Argument::complex(number.real, number.imag);
  }
  if (kind == "str") return Argument::text(py::cast<std::string>(content));
  if (kind == "dtype") return Argument::dtype(plug_dtype_of(py::cast<at::ScalarType>(content)));
  if (kind == "layout") return Argument::layout(py::cast<int64_t>(content));
  if (kind == "format") return Argument::format(py::cast<int64_t>(content));
  if (kind == "device") return Argument::device(py::cast<int64_t>(content));
  if (kind == "generator") return Argument::generator();
  if (kind == "ints") return Argument::ints(py::cast<std::vector<int64_t>>(content));
  if (kind == "floats") return Argument::floats(py::cast<std::vector<double>>(content));
  if (kind == "bools") return Argument::bools(py::cast<std::vector<uint8_t>>(content));
  if (kind == "ref") return Argument::ref(py::cast<int32_t>(content));
  if (kind == "refs") return Argument::refs(py::cast<std::vector<int64_t>>(content));
  if (kind == "symbol") return Argument::symbol(py::cast<int32_t>(content));
  TORCH_CHECK(kind == "list", "There is no argument of the kind '", kind, "'.");
  std::vector<Argument> items;
  for (const py::handle& item : py::cast<py::list>(content)) items.push_back(argument_of(item));
  return Argument::list(std::move(items));
}

}  // namespace torchplug::python
