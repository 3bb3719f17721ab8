#pragma once
// What one return of an operator is, by its schema: how plug.h represents it, and back.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::aten {

enum class ResultKind : uint8_t {
  kTensor,
  kTensors,  // a list
  kBool,
  kInt,
  kFloat,
  kScalar,  // a number of whatever type
  kInts,    // lists of numbers
  kFloats,
  kBools,
  kOther  // plug.h has no form for it
};

std::vector<ResultKind> result_kinds(const c10::FunctionSchema& schema);

inline bool is_tensors(ResultKind kind) {
  return kind == ResultKind::kTensor || kind == ResultKind::kTensors;
}
inline bool is_number(ResultKind kind) { return kind >= ResultKind::kBool && kind <= ResultKind::kScalar; }
inline bool is_numbers(ResultKind kind) { return kind >= ResultKind::kInts && kind <= ResultKind::kBools; }

// A number for the kernel to fill in. `dtype`: that of the tensor that a Scalar is read from.
plug_value open_number(ResultKind kind, at::ScalarType dtype);

// What the kernel has set a result to that is no tensor. `title`: of the kernel, for messages.
c10::IValue number_of(const plug_value& value, ResultKind kind, const char* title, size_t index);
// A list of numbers that the kernel shaped; an empty one if it did not.
c10::IValue numbers_of(const plug_value& value, ResultKind kind);

}  // namespace torchplug::aten
