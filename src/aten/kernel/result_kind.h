#pragma once
// What one return of an operator is, by its schema: how plug.h represents it, and back.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <span>
#include <vector>

#include "aten/tensor/arguments.h"
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

// What a kernel asks of host->output.
struct OutputRequest {
  uint32_t index;  // of the result
  plug_dtype dtype;
  int32_t ndim;
  const int64_t* sizes;
  const int64_t* strides;  // null: contiguous
  bool is_preparing;       // asked in `prepare`
  bool is_begun;           // the kernel has given a list some tensors already
};
// What is wrong with it, in a sentence; null: nothing.
const char* wrong_output(const OutputRequest& request, std::span<const ResultKind> kinds,
                         std::span<const plug_value> results);

// A number for the kernel to fill in. A Scalar is of the first argument's dtype, if that is a tensor.
plug_value open_number(ResultKind kind, Arguments arguments);

// What the kernel has set a result to that is no tensor. `title`: of the kernel, for messages.
c10::IValue number_of(const plug_value& value, ResultKind kind, const char* title, size_t index);
// A list of numbers for the kernel to fill in, which lie in a CPU tensor.
plug_value open_numbers(const at::Tensor& numbers);
// A list of numbers that the kernel shaped; an empty one if it did not.
c10::IValue numbers_of(const plug_value& value, ResultKind kind);

}  // namespace torchplug::aten
