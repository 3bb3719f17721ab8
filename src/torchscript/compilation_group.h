#pragma once
// A group of operators of a scripted function that runs as one: what <device>::CompilationGroup does when
// PyTorch's interpreter comes to it. The first call of a kind is done operator by operator and recorded;
// those that follow run what was recorded, by engines. Owned by the plan that PyTorch has made of the
// function; any thread may call it.

#include <ATen/core/stack.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "graph/engine_cache.h"
#include "torchscript/entry.h"
#include "torchscript/program.h"
#include "torchscript/state.h"

namespace torchplug::torchscript {

class CompilationGroup {
 public:
  // `weights`: which inputs seldom change. `own`: settings that hold whether groups are enabled or not; null:
  // those that groups are enabled with.
  CompilationGroup(std::shared_ptr<torch::jit::Graph> graph, std::vector<bool> weights,
                   std::shared_ptr<const Settings> own);

  // Takes its inputs from the stack and leaves its results.
  void run(torch::jit::Stack& stack);
  // The same, by PyTorch's interpreter.
  void interpret(torch::jit::Stack& stack) const;

  GroupFacts facts() const;

 private:
  using Inputs = c10::ArrayRef<c10::IValue>;
  using Results = std::vector<c10::IValue>;
  using Programs = graph::EngineCache<Program>;

  std::shared_ptr<const Settings> settings() const { return own_ ? own_ : current_settings(); }
  std::optional<Results> results_for(Inputs inputs);
  std::optional<Results> results_by_sending(Inputs inputs);
  std::optional<Results> results_on(DeviceIndex device, Inputs inputs);
  Results record_or_interpret(DeviceIndex device, Inputs inputs, Programs::Ticket& ticket);
  void wait_for_recorded(DeviceIndex device);
  Results interpreted_instead(Inputs inputs, Programs::Ticket& ticket, const std::exception& error);
  Results record(DeviceIndex device, Inputs inputs, Programs::Ticket& ticket);
  std::vector<bool> weights_in(Inputs inputs) const;
  void keep(const std::shared_ptr<Program>& program);
  void note(const std::string& why);

  const std::shared_ptr<torch::jit::Graph> graph_;
  const torch::jit::Code code_;
  const std::vector<bool> weights_;
  const std::shared_ptr<const Settings> own_;
  const size_t inputs_;
  Programs programs_;
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> interpreted_{0};
  mutable std::mutex facts_lock_;  // guards
  std::vector<std::weak_ptr<Program>> made_;
  std::vector<std::string> why_;
  std::string operators_;
};

// Of all groups that are there.
std::vector<GroupFacts> facts_of_groups();

// What PyTorch's interpreter is to do for a node that is a group.
std::function<void(torch::jit::Stack&)> make_operation(const torch::jit::Node* node);

// The node's kind: "<device>::CompilationGroup".
c10::Symbol group_symbol();
// Which inputs of it seldom change: an attribute of the node.
c10::Symbol weights_symbol();
// That it is of a module that was lowered to the device: an attribute too.
c10::Symbol lowered_symbol();

}  // namespace torchplug::torchscript
