#pragma once
// An operator that nodes of a graph are calls of: its schema, as far as a graph has to know it, and where the
// compiler lists it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::graph {

struct Parameter {
  std::string name;
  bool is_keyword_only = false;
};

struct Operator {
  std::string schema;  // the compiler's own text; of an operator it does not list, as PyTorch prints it
  int32_t place = -1;  // in the compiler's list; -1: not listed
  std::string name;    // "aten::add.Tensor"
  std::vector<Parameter> parameters;
  size_t result_count = 0;

  bool is_bound() const { return place >= 0; }
};

// Throws a GraphError for a text that is no schema.
Operator read_operator(std::string schema, int32_t place);

}  // namespace torchplug::graph
