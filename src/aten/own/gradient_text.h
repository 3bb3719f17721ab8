#pragma once
// How the gradients of an operator are computed, as a plugin writes it: "x: acme::scale(grad, by)".
// docs/operators.md has the grammar. Read once, when the operator is defined; the operators it names are
// looked for when it is evaluated, so that those of other libraries may be defined later (gradient_check.h
// looks at the others before). Never changes; any thread may use it.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "aten/tensor/arguments.h"

namespace torchplug::aten {

// What a gradient is computed from.
struct GradientValues {
  std::vector<c10::IValue> arguments;  // of the call
  std::vector<c10::IValue> results;
  std::vector<c10::IValue> gradients;  // of the results
  std::vector<bool> wanted;            // by argument: whether somebody asks for its gradient
};

class GradientText {
 public:
  // Throws a sentence for what the grammar or the schema does not allow.
  GradientText(const std::string& text, const c10::FunctionSchema& schema);

  // A value in the text.
  struct Value {
    enum class Kind { kArgument, kWanted, kResult, kGradient, kConstant, kList, kCall, kPart };
    Kind kind = Kind::kConstant;
    size_t index = 0;  // of an argument or a result; kPart: of the results of a call
    c10::IValue constant{};
    std::vector<Value> values{};  // of a list; positional arguments of a call; the call of a part
    std::vector<Value> named{};   // arguments of a call that are given by name
    std::string name{};           // of such an argument
    std::string operator_name{};  // of a call
    std::string overload_name{};
    size_t place = 0;  // in the text
  };

  // One computation: the arguments whose gradients it gives, and what gives them.
  struct Entry {
    std::vector<size_t> arguments;
    Value value;
  };

  const std::vector<Entry>& entries() const { return entries_; }
  // By argument, by result: whether an entry uses it; of results also whether one uses its gradient.
  const std::vector<bool>& used_arguments() const { return used_arguments_; }
  const std::vector<bool>& used_results() const { return used_results_; }
  const std::vector<bool>& used_gradients() const { return used_gradients_; }
  // Whether the text gives the gradient of the argument.
  bool names(size_t argument) const;

  // Throws the sentence that the text cannot be read at `place`.
  [[noreturn]] void refuse(size_t place, const std::string& why) const;

  // The gradients of the entry's arguments, in their order.
  std::vector<c10::IValue> compute(const Entry& entry, const GradientValues& values) const;

 private:
  std::string whose() const;
  c10::IValue evaluate(const Value& value, const GradientValues& values) const;
  std::vector<c10::IValue> call(const Value& value, const GradientValues& values) const;
  void run(const c10::OperatorHandle& handle, torch::jit::Stack& stack,
           const std::unordered_map<std::string, c10::IValue>& named) const;

  std::string name_;  // of the operator
  std::string text_;
  std::vector<Entry> entries_;
  std::vector<bool> used_arguments_;
  std::vector<bool> used_results_;
  std::vector<bool> used_gradients_;
};

}  // namespace torchplug::aten
