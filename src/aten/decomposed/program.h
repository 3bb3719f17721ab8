#pragma once
// What an operator decomposes into, for calls of one plan: operators in order, each with where its arguments
// come from. Made by a Recorder, once; from then on it never changes, and any thread may run it. It keeps no
// object of Python's and needs none.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "aten/plan/shape.h"
#include "aten/tensor/arguments.h"

namespace torchplug::aten {

// Tensors are numbered: those of the call first, in order, then all results of each step.
using Slot = uint32_t;
inline constexpr Slot kConstantSlot = ~Slot{0};  // a number on the host that is the program's own

bool are_alike(const std::vector<OutputShape>& a, const std::vector<OutputShape>& b);

struct Step {
  // An argument that is a number of the call's, whatever its value.
  struct Number {
    size_t argument;  // of the step
    size_t given;     // of the call
  };

  c10::OperatorHandle op;
  torch::jit::Stack arguments;  // with something in the place of each tensor
  std::vector<Slot> slots{};    // of the tensors among them
  std::vector<Number> numbers{};
  Slot first_result = 0;
  std::vector<OutputShape> results{};
  bool makes_results = true;  // they are neither arguments nor views of them
  std::vector<Slot> dead{};   // what no later step needs
};

class Program {
 public:
  // The results, in the order of those of the operator; undefined ones are absent. Below autograd and
  // autocast.
  // A number on the host is brought to the device.
  std::vector<at::Tensor> run(Arguments given) const;

  // Whether `other`, the same call with other numbers, differs in nothing but these: then each is taken from
  // the call from now on. `before` and `after` are both calls' arguments.
  bool generalize(const Program& other, Arguments before, Arguments after);

 private:
  friend class Recorder;

  std::vector<Step> steps_;
  std::vector<Slot> results_;  // kConstantSlot: absent
  Slot slots_ = 0;
  c10::Device device_ = c10::kMeta;
};

// Writes a program down while its steps are carried out on tensors without data.
class Recorder {
 public:
  // `arguments`: of the call, with tensors on PyTorch's device `meta` in the place of its own, which is
  // `device`.
  Recorder(Arguments arguments, c10::Device device);

  // `arguments` as the schema has them, `results` what the operator gave. False if a tensor among the
  // arguments has come from nowhere.
  bool add(const c10::OperatorHandle& op, torch::jit::Stack arguments,
           const std::vector<at::Tensor>& results);
  // To go back on steps: what was recorded since there were so many is forgotten.
  size_t count() const { return program_->steps_.size(); }
  void rewind(size_t count);
  // Ends it. Null if a result has come from nowhere.
  std::shared_ptr<Program> finish(const std::vector<at::Tensor>& results);

  // The device that the program is for.
  c10::Device device() const { return device_; }

 private:
  std::optional<Slot> slot_of(const at::Tensor& tensor) const;
  void number(const at::Tensor& tensor);
  void find_last_uses();

  c10::Device device_;
  Slot given_ = 0;  // how many tensors the call has
  std::unordered_map<const c10::TensorImpl*, Slot> slots_;
  std::vector<at::Tensor> alive_;  // by slot: an address stands for one tensor
  std::shared_ptr<Program> program_;
};

// A number of a call's: a Scalar, a float, or a tensor that a Python number has become. Nothing else.
std::optional<c10::Scalar> number_in(const c10::IValue& value);

}  // namespace torchplug::aten
