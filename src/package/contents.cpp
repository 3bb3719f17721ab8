#include "package/contents.h"

#include <algorithm>

namespace torchplug::package {
namespace {

// A number that is to be a place among `count`.
void check_place(int64_t place, size_t count, std::string_view what) {
  if (place < 0 || static_cast<size_t>(place) >= count)
    refuse("The package names ", what, " ", place, ", but it has ", count, ".");
}

// Goes through a program as a call does.
class ProgramCheck {
 public:
  ProgramCheck(const Program& program, size_t groups)
      : program_(program), groups_(groups), symbols_(program.symbols) {
    if (program.given < 0 || program.registers < program.given || program.symbols < 0)
      refuse("The package has a program of ", program.registers, " registers, of which ", program.given,
             " are given.");
    // Each register is given, or a result of a step.
    size_t most = static_cast<size_t>(program.given);
    for (const Step& step : program.steps) most += step.results.size();
    if (static_cast<size_t>(program.registers) > most)
      refuse("The package has a program of ", program.registers, " registers, of which only ", most,
             " are used.");
    is_filled_.resize(static_cast<size_t>(program.registers));
    std::fill_n(is_filled_.begin(), program.given, true);
  }

  void run() {
    for (const Step& step : program_.steps) check_step(step);
    for (const Argument& result : program_.results) check_argument(result);
  }

 private:
  void check_argument(const Argument& argument) const {
    argument.for_each_ref([this](int32_t place) {
      check_place(place, is_filled_.size(), "register");
      if (!is_filled_[static_cast<size_t>(place)])
        refuse("The package uses register ", place, " before it is filled.");
    });
    argument.for_each_symbol([this](int32_t place) {
      check_place(place, program_.expressions.size(), "expression");
      const Expression& expression = program_.expressions[static_cast<size_t>(place)];
      if (expression.symbol_count() > symbols_)
        refuse("The package uses symbol ", expression.symbol_count() - 1, " before it is known.");
    });
  }

  void check_step(const Step& step) {
    for (const Argument& argument : step.args) check_argument(argument);
    const bool takes_one = step.kind != StepKind::kOperator && step.kind != StepKind::kEngine;
    if (takes_one && (step.args.size() != 1 || step.args[0].tag() != PLUG_VALUE_REF))
      refuse("The package has a step that takes something else than one register.");
    switch (step.kind) {
      case StepKind::kOperator: check_call(step); break;
      case StepKind::kEngine: check_place(step.target, groups_, "group"); break;
      case StepKind::kItem:
        if (step.target < 0 || step.results.size() != 1)
          refuse("The package has a step that gives no one item.");
        break;
      case StepKind::kSize:
      case StepKind::kValue:
        if (step.target < 0 || !step.results.empty())
          refuse("The package has a step that gives no one symbol.");
        ++symbols_;
        break;
      default:
        refuse("The package has a step of kind ", static_cast<int>(step.kind), ", which there is not.");
    }
    for (const int32_t place : step.results) {
      if (place == -1) continue;
      check_place(place, is_filled_.size(), "register");
      if (place < program_.given) refuse("The package fills register ", place, ", which is given.");
      is_filled_[static_cast<size_t>(place)] = true;
    }
  }

  void check_call(const Step& step) const {
    check_place(step.target, program_.callees.size(), "operator");
    const Callee& callee = program_.callees[static_cast<size_t>(step.target)];
    if (callee.arguments.size() != step.args.size())
      refuse("The package calls ", callee.name, " with ", step.args.size(), " arguments instead of ",
             callee.arguments.size(), ".");
  }

  const Program& program_;
  size_t groups_;
  int64_t symbols_;
  std::vector<bool> is_filled_;
};

void check_inputs(const Contents& contents) {
  const auto count = static_cast<int64_t>(contents.symbols.size());
  const auto check_known = [&](const Expression& expression) {
    if (expression.symbol_count() > count)
      refuse("The package names symbol ", expression.symbol_count() - 1, ", but it has ", count, ".");
  };
  for (const Input& input : contents.inputs) {
    if (input.is_tensor ? input.strides.size() != input.sizes.size() : input.sizes.size() != 1)
      refuse("The package has an input '", input.name, "' that is neither a tensor nor a number.");
    for (const Size& size : input.sizes) check_known(size.value);
    for (const Expression& stride : input.strides) check_known(stride);
  }
  for (const Condition& condition : contents.conditions) check_known(condition.holds);
  for (const Symbol& symbol : contents.symbols) {
    check_place(symbol.input, contents.inputs.size(), "input");
    const Input& input = contents.inputs[static_cast<size_t>(symbol.input)];
    if (input.is_tensor) check_place(symbol.dimension, input.sizes.size(), "dimension");
    if (symbol.scale <= 0) refuse("The package has a symbol '", symbol.name, "' that no size determines.");
  }
}

void check_weights(const Contents& contents) {
  for (const Weight& weight : contents.weights) {
    check_place(weight.storage, static_cast<size_t>(std::max(contents.storages, 0)), "storage");
    const auto is_negative = [](int64_t number) { return number < 0; };
    if (weight.sizes.size() != weight.strides.size() || weight.offset < 0 ||
        std::ranges::any_of(weight.sizes, is_negative) || std::ranges::any_of(weight.strides, is_negative))
      refuse("The package has a weight '", weight.name, "' whose sizes and strides are none.");
  }
}

}  // namespace

std::string to_bytes(const Contents& contents) {
  check(contents);
  ByteWriter writer;
  writer(contents);
  return writer.take();
}

Contents from_bytes(std::string_view bytes) {
  Contents contents;
  ByteReader reader(bytes);
  reader(contents);
  reader.end();
  check(contents);
  return contents;
}

void check(const Contents& contents) {
  check_inputs(contents);
  check_weights(contents);
  const auto given = contents.inputs.size() + contents.weights.size();
  if (static_cast<size_t>(contents.program.given) != given ||
      static_cast<size_t>(contents.program.symbols) != contents.symbols.size() ||
      contents.program.results.size() != contents.outputs.size())
    refuse("The package has a program that takes or gives something else than the package.");
  ProgramCheck(contents.program, contents.groups.size()).run();
  for (const Group& group : contents.groups) ProgramCheck(group.steps, 0).run();
  for (const Made& made : contents.made) {
    check_place(made.group, contents.groups.size(), "group");
    if (made.engine != -1)
      check_place(made.engine, static_cast<size_t>(std::max(contents.engines, 0)), "engine");
  }
  for (const Output& output : contents.outputs)
    if (output.input != -1) check_place(output.input, contents.inputs.size(), "input");
}

}  // namespace torchplug::package
