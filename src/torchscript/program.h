#pragma once
// What a group does in calls of one key: engines, and operators one by one where there is none. Made when
// such a call has been recorded, and not changed; any thread may run it.

#include <ATen/core/ivalue.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "compile/engine_group.h"
#include "torchscript/entry.h"
#include "torchscript/tape.h"

namespace torchplug::torchscript {

class Program {
 public:
  // `is_weight`: by input of the tape.
  Program(Tape tape, const compile::Compiler& compiler, const std::vector<bool>& is_weight,
          const Settings& settings);

  // `inputs`: as many tensors as the tape has. The results; views of inputs and of each other are that.
  // `place`: what becomes of a result, or of an input that results are views of, before views are made of it.
  using Placing = std::function<at::Tensor(const at::Tensor& tensor, int32_t input)>;
  std::vector<c10::IValue> run(std::vector<at::Tensor> inputs, const Placing& place = nullptr) const;

  std::vector<compile::GroupReport> reports() const;
  // What its steps are, for people.
  const std::string& operators() const { return operators_; }
  bool has_engines() const { return !groups_.empty(); }

 private:
  struct Group {
    std::shared_ptr<compile::EngineGroup> engines;
    std::vector<int32_t> inputs;   // registers
    std::vector<int32_t> outputs;  // registers
    std::vector<int32_t> steps;    // of the tape: the same, operator by operator
  };
  struct Step {
    int32_t group = -1;
    int32_t step = -1;
    std::vector<int32_t> dead;  // registers that nobody needs from here on
  };

  void find_tail();
  std::vector<int32_t> bases() const;
  void make_groups(const compile::Compiler& compiler, const std::vector<bool>& is_weight);
  void find_last_uses();
  void name_operators();
  std::optional<std::vector<at::Tensor>> run_engines(const Group& group,
                                                     const std::vector<at::Tensor>& inputs) const;
  void run_group(const Group& group, Registers& registers) const;
  c10::IValue result_of(const TapeResult& result, const Registers& registers) const;

  Tape tape_;
  Settings settings_;
  std::vector<Group> groups_;
  std::vector<Step> steps_;
  std::vector<int32_t> tail_;     // steps of the tape that make views which are results
  std::vector<int32_t> view_of_;  // by register: of which, or -1; of those that the tail makes
  std::string operators_;
};

}  // namespace torchplug::torchscript
