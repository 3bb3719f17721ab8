#pragma once
// A plugin's kernel fitted to PyTorch's operator: which argument of one is which of the other.
// One kernel, named by a functional schema, serves the functional, in-place and out forms. An in-place
// operator that has no functional form is named itself; so is one that has an out form alone, and one that
// returns nothing. The kernel `any` serves every operator in the form it is called.

#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>
#include <optional>
#include <vector>

#include "aten/kernel/result_kind.h"
#include "aten/plan/operator_facts.h"
#include "aten/plan/shape.h"
#include "plugin/module.h"

namespace torchplug::aten {

enum class Form {
  kFunctional,
  kInPlace,
  kOut,
  kAsCalled  // an operator that writes its arguments, for the kernel `any` or of the plugin's own: results
             // are those arguments
};

// For a result that is no argument.
inline constexpr size_t kNoArgument = static_cast<size_t>(-1);

struct Binding {
  Binding(const plug_kernel& given, c10::OperatorHandle called, c10::OperatorHandle functional, Form of);

  const plug_kernel* kernel;
  c10::OperatorHandle operator_handle;    // the form this binding is for
  c10::OperatorHandle functional_handle;  // what the kernel computes
  Form form;
  uint64_t accepts = 0;  // PLUG_ACCEPTS_*
  bool is_any = false;
  // For each argument of the kernel's schema, the place in this form's.
  std::vector<size_t> argument_of;
  // For each, its type without '?'.
  std::vector<c10::TypeKind> types;
  // For each, whether None means that the kernel cannot be used: its schema has T where PyTorch's has T?.
  std::vector<bool> needs_value;
  // Arguments of this form that the kernel does not have: it is used while they hold their defaults.
  std::vector<size_t> unknown_arguments;
  // For each return, the place of the tensor that the call writes into, or kNoArgument; empty for a
  // functional form.
  std::vector<size_t> out_arguments;
  // For each argument of the kernel's schema: written, marked so or not.
  std::vector<bool> writes;
  // For each, whether it is an output that an out form is given: the kernel gets the tensor of the result.
  std::vector<bool> is_output;
  // By return of what the kernel computes.
  std::vector<ResultKind> results;
  // Of an operator of the plugin's own, for which PyTorch has no shape function: throws a sentence for a call
  // that cannot be. Its kernel does not decline, and the device's list of dtypes is not asked.
  std::function<CallShape(Arguments)> own_shape;
  bool is_own() const { return own_shape != nullptr; }
};

struct UnusedKernel {
  std::string schema;
  std::string why;
};

// Tells the author of a plugin that a kernel is for nothing: a warning, and a row of `torchplug devices`.
void report_unused_kernel(const plug_kernel& kernel, const std::string& plugin, const std::string& why);
std::vector<UnusedKernel> unused_kernels();

// Whether its schema can be read and names an operator that is there.
bool is_known_operator(const plug_kernel& kernel);

// The bindings of one kernel, one for each form PyTorch has. Empty, with a log line that says why, if
// the schema fits no operator.
std::vector<Binding> bind_kernel(const plug_kernel& kernel, const std::string& plugin);

// A kernel fitted to the very operator that its schema names, whatever that is. Nothing, with the reason, if
// it fits none.
std::optional<Binding> bind_schema(const plug_kernel& kernel, std::string* why);

// For a form that writes its result into an argument, the functional operator, if there is one.
std::optional<c10::OperatorHandle> find_functional(const c10::OperatorHandle& written);

// Whether plug.h has a form for an argument; for all arguments and results of an operator.
bool has_plug_form(const c10::Argument& argument);
bool has_plug_form(const c10::FunctionSchema& schema);
// The kernel `any` for one operator of which it has.
Binding bind_any(const plug_kernel& any, const OperatorFacts& facts);

}  // namespace torchplug::aten
