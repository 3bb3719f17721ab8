#pragma once
// A plugin's kernel fitted to PyTorch's operator: which argument of one is which of the other.
// One kernel, named by a functional schema, serves the functional, in-place and out forms. An in-place
// operator that has no functional form is named itself; so is one that returns nothing.

#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "aten/plan/shape.h"
#include "plugin/module.h"

namespace torchplug::aten {

enum class Form { kFunctional, kInPlace, kOut };

// What is known of the results of an operator of the plugin's own, which has no shape function of PyTorch's.
// Its kernel does not decline, and the device's list of dtypes is not asked.
struct OwnResults {
  // Throws a sentence for a call that cannot be. None for what is an argument, a number, or shaped by the
  // kernel.
  std::function<std::vector<OutputShape>(Arguments)> shape;
  std::vector<std::optional<size_t>> arguments;  // for each return, the argument that it is
};

struct Binding {
  const plug_kernel* kernel;
  c10::OperatorHandle operator_handle;    // the form this binding is for
  c10::OperatorHandle functional_handle;  // what the kernel computes
  Form form;
  // For each argument of the kernel's schema, the place in this form's.
  std::vector<size_t> argument_of;
  // For each, its type without '?'.
  std::vector<c10::TypeKind> types;
  // For each, whether None means that the kernel cannot be used: its schema has T where PyTorch's has T?.
  std::vector<bool> needs_value;
  // Arguments of this form that the kernel does not have: it is used while they hold their defaults.
  std::vector<size_t> unknown_arguments;
  // For each return, the place of the tensor that the call writes into; empty for a functional form.
  std::vector<size_t> out_arguments;
  // For each argument of the kernel's schema: written, marked so or not.
  std::vector<bool> writes;
  std::shared_ptr<const OwnResults> own = nullptr;  // null for PyTorch's operators
};

struct UnusedKernel {
  std::string schema;
  std::string why;
};

// Tells the author of a plugin that a kernel is for nothing: a warning, and a row of `torchplug devices`.
void report_unused_kernel(const plug_kernel& kernel, const std::string& plugin, const std::string& why);
std::vector<UnusedKernel> unused_kernels();

// The bindings of one kernel, one for each form PyTorch has. Empty, with a log line that says why, if
// the schema fits no operator.
std::vector<Binding> bind_kernel(const plug_kernel& kernel, const std::string& plugin);

}  // namespace torchplug::aten
