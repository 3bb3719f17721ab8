#include "plugin/layers/layers.h"

#include "plugin/layers/fault.h"
#include "plugin/layers/validate_messages.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

py::dict rules() {
  py::dict meanings;
  for (const RuleText& rule : validation_rules()) meanings[rule.id] = rule.meaning;
  return meanings;
}

py::list messages() {
  py::list found;
  for (const ValidationMessage& message : validation_messages()) {
    found.append(py::make_tuple(message.id, message.count, message.last));
  }
  return found;
}

}  // namespace

void bind_layers(py::module_& module) {
  module.def("active_layers", &active_layers);
  module.def("set_faults", &set_faults);
  module.def("validation_rules", &rules);
  module.def("validation_messages", &messages);
  module.def("forget_validation_messages", &forget_validation_messages);
}

}  // namespace torchplug::python
