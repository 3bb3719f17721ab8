#pragma once
// What can be said of an operator from its schema alone, worked out once.

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>
#include <vector>

#include "aten/plan/plan_key.h"

namespace torchplug::aten {

// "aten::add.Tensor"
std::string full_name(const c10::OperatorName& name);

// The operator of a full name, if this PyTorch has it.
std::optional<c10::OperatorHandle> find_operator(const std::string& full_name);

// All operators of a name, "aten::add".
std::vector<c10::OperatorHandle> overloads_of(const std::string& name);

// Whether `out` is `functional`, or the form in place, with its results as arguments behind the others.
bool is_out_form_of(const c10::FunctionSchema& functional, const c10::FunctionSchema& out);

// The overloads of a functional operator whose arguments are the same with results to write into behind them.
std::vector<c10::OperatorHandle> find_out_forms(const c10::OperatorHandle& functional);

// Lists of tensors at once, which PyTorch does one by one unless a device has a kernel.
bool is_foreach_operator(const c10::OperatorHandle& handle);

struct OperatorFacts {
  explicit OperatorFacts(const c10::OperatorHandle& op);

  c10::OperatorHandle handle;
  std::string name;
  size_t argument_count;
  size_t return_count;
  std::vector<bool> writes;      // by argument; includes what the schema does not admit
  std::vector<bool> overwrites;  // by argument: every element is written and none is read
  bool writes_any = false;
  // Nobody above tells autograd that what it writes has changed: operators on lists, and other libraries'.
  bool bumps_versions = false;
  bool is_view = false;  // gives another look at an argument and touches no data
  bool is_random = false;
  bool is_out_form = false;
  bool is_aten = false;
  bool is_foreach = false;
  // Each element of the result is made of those in the same place, and nothing among the arguments but
  // tensors and numbers could give it a shape or a dtype.
  bool is_pointwise = false;
  std::vector<bool> is_number;  // by argument: a Scalar or a float
  bool returns_tensors = true;  // every return is one tensor
  bool makes_object = false;    // some return is an object of a class
  bool shape_needs_data = false;
  Numbers numbers = Numbers::kClass;   // what of its numbers decides what it gives, or that it refuses
  bool takes_host_indices = false;     // index tensors may be on the host
  bool has_deterministic_way = false;  // another algorithm while deterministic mode is on
  bool refuses_determinism = false;    // an error or a warning while it is on
  bool is_in_place = false;            // writes its first argument and returns it
  // Whether PyTorch's own C++ shape function can be had through the dispatcher (shape.h).
  bool is_structured = false;
  bool checks_late = false;  // its kernel refuses sizes that the shape function takes
  // For a structured operator, the form that writes into given tensors: the same code as the functional
  // form. Out forms written by hand are not trusted to be.
  std::optional<c10::OperatorHandle> out_form;
};

}  // namespace torchplug::aten
