#pragma once
// What one call of a program knows so far: the values of its registers, and its symbols.
// For the thread of the call alone.

#include <ATen/core/ivalue.h>

#include <span>
#include <vector>

#include "package/contents.h"

namespace torchplug::package {

class Frame {
 public:
  using Values = std::span<const c10::IValue>;

  // Registers begin with `inputs`, then `weights`, which live as long.
  Frame(const Program& program, Values inputs, Values weights, std::vector<Number> symbols)
      : program_(program),
        inputs_(inputs),
        weights_(weights),
        own_(static_cast<size_t>(program.registers - program.given)),
        symbols_(std::move(symbols)) {}

  const c10::IValue& at(int64_t place) const {
    auto at = static_cast<size_t>(place);
    if (at < inputs_.size()) return inputs_[at];
    at -= inputs_.size();
    return at < weights_.size() ? weights_[at] : own_[at - weights_.size()];
  }
  void fill(int32_t place, c10::IValue value) { own_[own_place(place)] = std::move(value); }
  void empty(int32_t place) { own_[own_place(place)] = c10::IValue(); }

  Number number(int64_t expression) const {
    return program_.expressions[static_cast<size_t>(expression)].value(symbols_);
  }
  void add_symbol(Number number) { symbols_.push_back(number); }

 private:
  size_t own_place(int32_t place) const { return static_cast<size_t>(place - program_.given); }

  const Program& program_;
  Values inputs_;
  Values weights_;
  std::vector<c10::IValue> own_;
  std::vector<Number> symbols_;
};

}  // namespace torchplug::package
