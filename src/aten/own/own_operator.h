#pragma once
// An operator of a plugin's own: one of its kernels whose schema is in the namespace of the plugin's name,
// with what its texts say. Made when the plugin is loaded and kept for ever; never changes.

#include <ATen/core/function_schema.h>

#include <optional>
#include <string>
#include <vector>

#include "aten/kernel/result_kind.h"
#include "aten/own/gradient_text.h"
#include "aten/own/shape_text.h"
#include "plugin/module.h"

namespace torchplug::aten {

struct OwnOperator {
  // Throws a sentence that names plugin and operator for a schema or a text that is wrong.
  OwnOperator(const Module& loaded, const plug_kernel& given);

  const Module& module;
  const plug_kernel& kernel;
  c10::FunctionSchema schema;
  std::string name;  // "acme::scale"
  std::string text;  // the schema as this PyTorch prints it
  // For each return, the argument that it is.
  std::vector<std::optional<size_t>> returned;
  std::vector<ResultKind> kinds;  // of the returns
  std::vector<bool> writes;       // by argument
  bool writes_any = false;
  bool takes_tensors = false;       // or lists of them
  std::optional<ShapeText> shapes;  // or kernel.shape, or the kernel shapes its results itself
  std::optional<GradientText> gradient;

  bool accepts(uint64_t bit) const { return (kernel.accepts & bit) != 0; }
  // Whether the result is a new tensor, or a list of new ones: neither an argument nor a number.
  bool is_new(size_t result) const;
  // Whether there may be calls without a tensor though the schema has some.
  bool may_lack_tensors() const;
  // Whether the shapes of all results can be told without running the kernel.
  bool has_shapes() const;
};

bool is_own_kernel(const Module& module, const plug_kernel& kernel);

// What the results of a call look like, for each return; nothing for those that are arguments or numbers, and
// for all that the kernel shapes itself. Throws a sentence for a call that can have none.
template <class Int>
std::vector<std::optional<ShapedResult<Int>>> shape_results(const OwnOperator& own, Arguments arguments);

// Throws for tensors that no kernel of the operator's can be given.
void check_tensors(const OwnOperator& own, Arguments arguments);

}  // namespace torchplug::aten
