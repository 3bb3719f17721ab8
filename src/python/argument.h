#pragma once
// What Python says of an argument of a node or a step.

#include <c10/core/ScalarType.h>
#include <torch/csrc/utils/pybind.h>

#include "graph/argument.h"
#include "torchplug/plug.h"

namespace torchplug::python {

// Throws for one that plug.h has no name for.
plug_dtype plug_dtype_of(c10::ScalarType type);

// As torchplug/compile/_graph.py writes it: (kind, content).
graph::Argument argument_of(const pybind11::handle& given);

}  // namespace torchplug::python
