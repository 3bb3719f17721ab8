#pragma once
// What a group did in one call, as a program without branches: operators of PyTorch's on registers. It is
// right for all calls of the same key. A value; several threads may run one.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/namespaces.h"
#include "torchscript/entry.h"
#include "torchscript/recording.h"

namespace torchplug::torchscript {

using Registers = std::vector<at::Tensor>;

// The place of an argument that is tensors, and the registers that hold them; -1: none.
struct Operand {
  size_t argument = 0;
  std::vector<int32_t> registers;
  bool is_list = false;
};

struct TapeStep {
  c10::OperatorHandle op;
  std::vector<c10::IValue> arguments;  // those that are no tensors; the same in every call
  std::vector<Operand> operands;
  std::vector<int32_t> results;  // registers, lists laid out one after another; -1: nothing
  bool is_view = false;          // what it gives shares memory with what it takes

  void run(Registers& registers) const;
};

// What is known of a register's tensor.
struct RegisterFacts {
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

struct TapeResult {
  c10::IValue fixed;               // what is no tensor
  std::vector<int32_t> registers;  // -1: an undefined tensor
  bool is_tensor = false;
  bool is_list = false;
};

struct Tape {
  size_t inputs = 0;                  // registers that calls give, the first ones
  std::vector<at::Tensor> constants;  // the registers behind them
  std::vector<RegisterFacts> registers;
  std::vector<TapeStep> steps;
  std::vector<TapeResult> results;

  bool is_constant(int32_t place) const {
    const auto at = static_cast<size_t>(place);
    return at >= inputs && at < inputs + constants.size();
  }
  const at::Tensor& constant(int32_t place) const { return constants[static_cast<size_t>(place) - inputs]; }
};

// The tensors of some values, lists laid out one after another.
std::vector<at::Tensor> tensors_in(c10::ArrayRef<c10::IValue> values);

// Which operators a tape has whole, though PyTorch has them made of others.
using IsTakenWhole = std::function<bool(const c10::OperatorHandle&)>;

// The tape of what was recorded between those inputs and outputs; or why it would not be right for other
// calls. `constants`: what the work knew beforehand.
std::variant<Tape, std::string> make_tape(const Recording& recording, c10::ArrayRef<c10::IValue> inputs,
                                          c10::ArrayRef<c10::IValue> outputs, const IsTakenWhole& is_whole,
                                          const Decompositions* decompositions);

}  // namespace torchplug::torchscript
