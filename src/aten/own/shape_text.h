#pragma once
// What the results of an operator look like, as a plugin writes it: "[x[:-1], w.0] x". docs/operators.md has
// the grammar. Read once, when the operator is defined; evaluated with numbers for plans and with symbols
// where a program is traced. Never changes; any thread may use it.

#include <ATen/core/function_schema.h>
#include <c10/core/SymInt.h>

#include <optional>
#include <string>
#include <vector>

#include "aten/tensor/arguments.h"

namespace torchplug::aten {

template <class Int>
struct ShapedTensor {
  std::vector<Int> sizes;
  at::ScalarType dtype = at::ScalarType::Undefined;
  std::vector<Int> strides{};  // none: contiguous
};

// One result: a tensor, or none, or a list of them.
template <class Int>
struct ShapedResult {
  bool is_list = false;
  std::vector<ShapedTensor<Int>> tensors;

  bool is_absent() const { return !is_list && tensors.empty(); }
};

class ShapeText {
 public:
  // For the results of `schema` that are tensors, or lists of tensors, and no arguments. Throws a sentence
  // for what the grammar or the schema does not allow.
  ShapeText(const std::string& text, const c10::FunctionSchema& schema);

  // For each of those results. Throws a sentence for a call that has no such shape. Int: int64_t or
  // c10::SymInt.
  template <class Int>
  std::vector<ShapedResult<Int>> evaluate(Arguments arguments) const;

  // The parts; for the reader.

  struct Expression {
    enum class Kind {
      kNumber,
      kSize,
      kInteger,
      kLength,
      kNegate,
      kAdd,
      kSubtract,
      kMultiply,
      kDivide,
      kModulo,
      kMin,
      kMax
    };
    Kind kind = Kind::kNumber;
    int64_t number = 0;   // the number; of kSize the dimension
    size_t argument = 0;  // of kSize, kInteger and kLength
    std::vector<Expression> operands;
  };

  // One size, or the sizes of a part of a tensor, or those that an argument lists.
  struct Dimensions {
    enum class Kind { kOne, kSlice, kListed };
    Kind kind = Kind::kOne;
    Expression size;
    size_t argument = 0;
    std::optional<int64_t> begin;
    std::optional<int64_t> end;
  };

  // The first of several that is given.
  struct Dtype {
    enum class Kind { kTensor, kArgument, kFixed };
    Kind kind = Kind::kFixed;
    size_t argument = 0;
    at::ScalarType fixed = at::ScalarType::Undefined;
  };

  struct Shape {
    std::optional<size_t> like;  // a tensor argument: its sizes and dtype
    std::vector<Dimensions> dimensions;
    std::vector<Dtype> dtypes;
  };

  // A bool, or one of a list of them.
  struct Condition {
    size_t argument = 0;
    std::optional<int64_t> item;
  };

  struct Result {
    std::optional<size_t> each;       // a list like this one
    std::optional<Expression> count;  // a list of so many
    Shape shape;
    std::optional<Condition> condition{};  // of a tensor: without it there is none
  };

 private:
  std::string name_;                    // of the operator
  std::vector<std::string> arguments_;  // their names
  std::vector<Result> results_;
};

// For each return of the schema, the argument that it is, as its alias annotation says.
std::vector<std::optional<size_t>> returned_arguments(const c10::FunctionSchema& schema);
bool is_list_of_tensors(const c10::TypePtr& type);

extern template std::vector<ShapedResult<int64_t>> ShapeText::evaluate(Arguments) const;
extern template std::vector<ShapedResult<c10::SymInt>> ShapeText::evaluate(Arguments) const;

}  // namespace torchplug::aten
