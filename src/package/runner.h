#pragma once
// A program that can be called: its operators found in this process's PyTorch, its groups' engines at hand.
// Made when a package is loaded, and not changed; any thread may run it.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "package/frame.h"

namespace torchplug::package {

class LoadedGroup;

class Runner {
 public:
  using Values = Frame::Values;
  using Groups = std::vector<std::unique_ptr<LoadedGroup>>;
  // Called again and again while a compiler is waited for; throws to give up.
  using Interruption = std::function<void()>;

  // `program`, checked, and `groups` live as long. Throws for an operator that this PyTorch does not have.
  Runner(const Program& program, c10::Device device, const Groups& groups);

  // The results, with every grad mode and autocast aside. `inputs` and `weights` live as long as the call.
  std::vector<c10::IValue> run(Values inputs, Values weights, std::vector<Number> symbols,
                               const Interruption& interruption) const;

 private:
  // A callee as this PyTorch has it.
  struct Operator {
    c10::OperatorHandle handle;
    torch::jit::Stack defaults;  // of all its arguments
    std::vector<size_t> places;  // of those that calls give
  };
  struct Ready {
    const Step* step;
    torch::jit::Stack arguments;  // of an operator; those that are the same in every call are there
    std::vector<std::pair<size_t, size_t>> open;  // of the others: their place, and which of the step's it is
    std::vector<int32_t> dead;                    // registers that no later step needs
  };

  static Operator find(const Callee& callee);
  void find_last_uses();
  void prepare(Ready& ready, const Frame& nothing) const;
  void run_step(const Ready& ready, Frame& frame, const Interruption& interruption) const;
  void call_operator(const Ready& ready, Frame& frame) const;
  void call_engine(const Step& step, Frame& frame, const Interruption& interruption) const;
  c10::IValue result_of(const Argument& argument, const Frame& frame) const;

  const Program& program_;
  c10::Device device_;
  const Groups& groups_;
  std::vector<Operator> operators_;  // by callee
  std::vector<Ready> steps_;
};

}  // namespace torchplug::package
