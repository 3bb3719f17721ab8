#pragma once
// What a package is given: its inputs one by one, and the symbols that their sizes determine. Without state
// but for the contents that it is about; any thread may use it.

#include <ATen/core/ivalue.h>

#include <vector>

#include "package/contents.h"

namespace torchplug::package {

class Signature {
 public:
  // `contents`, checked, live as long.
  Signature(const Contents& contents, c10::Device device) : contents_(contents), device_(device) {}

  // The symbols. Throws, naming the input and the dimension, for inputs that the program is not for.
  std::vector<Number> check(const std::vector<c10::IValue>& inputs) const;

  // The inputs as the program has them: with its strides, and no lazy bit. One that is so already is itself.
  std::vector<c10::IValue> conformed(const std::vector<c10::IValue>& inputs,
                                     const std::vector<Number>& symbols) const;

 private:
  void check_kind(const Input& input, const c10::IValue& given) const;
  std::vector<Number> find_symbols(const std::vector<c10::IValue>& inputs) const;
  void check_sizes(const Input& input, const c10::IValue& given, const std::vector<Number>& symbols) const;
  std::string values_in(const Expression& expression, const std::vector<Number>& symbols) const;

  const Contents& contents_;
  c10::Device device_;
};

}  // namespace torchplug::package
