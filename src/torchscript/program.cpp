#include "torchscript/program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "aten/kernel/call_flags.h"
#include "aten/plan/operator_facts.h"
#include "base/settings.h"
#include "compile/compile_error.h"
#include "graph/extract.h"
#include "torchscript/tape_graph.h"

namespace torchplug::torchscript {
namespace {

constexpr int32_t kNone = -1;

// As torch.compile's backend groups them.
graph::Groups group_steps(const TapeGraph& made, const compile::Compiler& compiler, int64_t min_nodes) {
  const bool may_any = std::ranges::any_of(made.candidates, &graph::Candidate::may_compile);
  const auto partition = may_any ? compiler.partition(made.graph) : std::nullopt;
  return partition ? graph::group_nodes(made.graph, *partition, made.candidates, min_nodes)
                   : graph::group_nodes(made.graph, made.candidates, min_nodes);
}

// As PyTorch has an output's, where an engine gives others.
std::optional<std::vector<int64_t>> wanted_strides(const RegisterFacts& facts) {
  return is_dense(facts) ? std::optional(facts.strides) : std::nullopt;
}

}  // namespace

Program::Program(Tape tape, const compile::Compiler& compiler, const std::vector<bool>& is_weight,
                 const Settings& settings)
    : tape_(std::move(tape)), settings_(settings) {
  name_operators();
  add_conversions(tape_, compiler);
  find_tail();
  make_groups(compiler, is_weight);
  find_last_uses();
}

// From the results back through views to what they are views of.
void Program::find_tail() {
  std::vector<int32_t> made_by(tape_.registers.size(), kNone);
  for (size_t i = 0; i < tape_.steps.size(); ++i)
    for (const int32_t result : tape_.steps[i].results)
      if (result >= 0) made_by[static_cast<size_t>(result)] = static_cast<int32_t>(i);
  view_of_.assign(tape_.registers.size(), kNone);
  std::set<int32_t> tail;
  for (const TapeResult& result : tape_.results) {
    for (int32_t place : result.registers) {
      while (place >= 0) {
        const int32_t maker = made_by[static_cast<size_t>(place)];
        if (maker < 0 || !tape_.steps[static_cast<size_t>(maker)].is_view) break;
        const Operand& viewed = tape_.steps[static_cast<size_t>(maker)].operands[0];
        tail.insert(maker);
        view_of_[static_cast<size_t>(place)] = viewed.registers[0];
        place = viewed.registers[0];
      }
    }
  }
  tail_.assign(tail.begin(), tail.end());
}

// What results are, or are views of.
std::vector<int32_t> Program::bases() const {
  std::vector<int32_t> found;
  for (const TapeResult& result : tape_.results) {
    for (int32_t place : result.registers) {
      while (place >= 0 && view_of_[static_cast<size_t>(place)] >= 0)
        place = view_of_[static_cast<size_t>(place)];
      if (place >= 0 && std::ranges::find(found, place) == found.end()) found.push_back(place);
    }
  }
  return found;
}

void Program::make_groups(const compile::Compiler& compiler, const std::vector<bool>& is_weight) {
  const TapeGraph made = make_graph(tape_, compiler, is_weight, bases());
  const graph::Groups found = group_steps(made, compiler, settings_.min_nodes);
  const graph::Extractor extractor(made.graph);
  const compile::GroupSettings settings{.options = settings_.options,
                                        .engines = 1,
                                        .gives_up = settings_.gives_up,
                                        .directory = cache_directory()};
  std::vector<int32_t> place_of(found.groups.size(), kNone);
  for (size_t i = 0; i < found.groups.size(); ++i) {
    graph::Extracted one = extractor.extract(found.groups[i]);
    if (one.outputs.empty()) continue;
    Group group;
    std::vector<std::optional<std::vector<int64_t>>> strides;
    const auto register_of = [&](int32_t value) { return made.register_of[static_cast<size_t>(value)]; };
    for (const int32_t value : one.inputs) group.inputs.push_back(register_of(value));
    for (const int32_t value : one.outputs) {
      group.outputs.push_back(register_of(value));
      strides.push_back(wanted_strides(tape_.registers[static_cast<size_t>(register_of(value))]));
    }
    group.steps = found.groups[i];
    one.graph.set_flags(aten::call_flags(/*multiplies=*/true));
    group.engines =
        std::make_shared<compile::EngineGroup>(compiler, std::move(one.graph), settings, std::move(strides));
    place_of[i] = static_cast<int32_t>(groups_.size());
    groups_.push_back(std::move(group));
  }
  for (const auto& step : found.steps) {
    if (step.group < 0) {
      steps_.push_back({kNone, step.node, {}});
    } else if (place_of[static_cast<size_t>(step.group)] >= 0) {
      steps_.push_back({place_of[static_cast<size_t>(step.group)], kNone, {}});
    }
  }
}

// From the last step on, so that the first to name a register is the last to need it.
void Program::find_last_uses() {
  std::vector<bool> is_needed(tape_.registers.size());
  for (const TapeResult& result : tape_.results)
    for (const int32_t place : result.registers)
      if (place >= 0) is_needed[static_cast<size_t>(place)] = true;
  for (const int32_t place : bases()) is_needed[static_cast<size_t>(place)] = true;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const auto note = [&](int32_t place) {
      if (place < 0 || is_needed[static_cast<size_t>(place)]) return;
      is_needed[static_cast<size_t>(place)] = true;
      step->dead.push_back(place);
    };
    const auto note_step = [&](int32_t number) {
      const TapeStep& one = tape_.steps[static_cast<size_t>(number)];
      std::ranges::for_each(one.results, note);
      for (const Operand& operand : one.operands) std::ranges::for_each(operand.registers, note);
    };
    if (step->group < 0) {
      note_step(step->step);
    } else {
      std::ranges::for_each(groups_[static_cast<size_t>(step->group)].steps, note_step);
    }
  }
}

void Program::name_operators() {
  for (const TapeStep& step : tape_.steps) {
    const std::string& name = step.op.operator_name().name;
    operators_ += operators_.empty() ? "" : ", ";
    operators_ += name.substr(name.find("::") == std::string::npos ? 0 : name.find("::") + 2);
  }
}

std::vector<c10::IValue> Program::run(std::vector<at::Tensor> inputs, const Placing& place) const {
  Registers registers = std::move(inputs);
  registers.insert(registers.end(), tape_.constants.begin(), tape_.constants.end());
  registers.resize(tape_.registers.size());
  for (const Step& step : steps_) {
    if (step.group >= 0) {
      run_group(groups_[static_cast<size_t>(step.group)], registers);
    } else {
      tape_.steps[static_cast<size_t>(step.step)].run(registers);
    }
    for (const int32_t dead : step.dead) registers[static_cast<size_t>(dead)].reset();
  }
  if (place) {
    for (const int32_t base : bases()) {
      at::Tensor& tensor = registers[static_cast<size_t>(base)];
      tensor = place(tensor, static_cast<size_t>(base) < tape_.inputs ? base : kNone);
    }
  }
  for (const int32_t view : tail_) tape_.steps[static_cast<size_t>(view)].run(registers);
  std::vector<c10::IValue> results;
  results.reserve(tape_.results.size());
  for (const TapeResult& result : tape_.results) results.push_back(result_of(result, registers));
  return results;
}

std::optional<std::vector<at::Tensor>> Program::run_engines(const Group& group,
                                                            const std::vector<at::Tensor>& inputs) const {
  try {
    return group.engines->run(inputs, {}, settings_.interruption);
  } catch (const compile::CompileError& error) {  // whoever calls later is told that there is no engine
    if (!settings_.gives_up) throw;
    TORCH_WARN(error.what(), " Its operators run one by one.");
    return std::nullopt;
  }
}

void Program::run_group(const Group& group, Registers& registers) const {
  std::vector<at::Tensor> inputs;
  inputs.reserve(group.inputs.size());
  for (const int32_t place : group.inputs) inputs.push_back(registers[static_cast<size_t>(place)]);
  const auto outputs = run_engines(group, inputs);
  if (!outputs) {
    for (const int32_t step : group.steps) tape_.steps[static_cast<size_t>(step)].run(registers);
    return;
  }
  for (size_t i = 0; i < group.outputs.size(); ++i)
    registers[static_cast<size_t>(group.outputs[i])] = (*outputs)[i];
}

c10::IValue Program::result_of(const TapeResult& result, const Registers& registers) const {
  if (!result.is_tensor) return result.fixed.isList() ? result.fixed.deepcopy() : result.fixed;
  const auto at = [&](int32_t place) {
    return place < 0 ? at::Tensor() : registers[static_cast<size_t>(place)];
  };
  if (!result.is_list) return at(result.registers[0]);
  c10::List<at::Tensor> list;
  for (const int32_t place : result.registers) list.push_back(at(place));
  return list;
}

std::vector<compile::GroupReport> Program::reports() const {
  std::vector<compile::GroupReport> reports;
  reports.reserve(groups_.size());
  for (const Group& group : groups_) reports.push_back(group.engines->report());
  return reports;
}

}  // namespace torchplug::torchscript
