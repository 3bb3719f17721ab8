#include "package/runner.h"

#include <algorithm>
#include <string>

#include "package/loaded_group.h"
#include "package/operand.h"

namespace torchplug::package {
namespace {

const std::string& name_of(const c10::Argument& argument) { return argument.name(); }

// The item of a list of tensors, or of anything.
c10::IValue item_of(const c10::IValue& list, int32_t place) {
  const auto at = static_cast<size_t>(place);
  if (list.isTensorList()) {
    const c10::List<at::Tensor> tensors = list.toTensorList();
    if (at < tensors.size()) return tensors.get(at);
  } else if (list.isList()) {
    const auto items = list.toListRef();
    if (at < items.size()) return items[at];
  }
  refuse("The package wants item ", place, " of a result that has none. Make it anew.");
}

Number number_of(const c10::IValue& value) {
  if (value.isInt()) return value.toInt();
  if (value.isBool()) return int64_t{value.toBool()};
  if (value.isDouble()) return value.toDouble();
  refuse("The package wants a number that is none. Make it anew.");
}

}  // namespace

Runner::Runner(const Program& program, c10::Device device, const Groups& groups)
    : program_(program), device_(device), groups_(groups) {
  for (const Callee& callee : program.callees) operators_.push_back(find(callee));
  const Frame nothing(program, {}, {}, {});
  for (const Step& step : program.steps) {
    steps_.push_back({&step, {}, {}, {}});
    if (step.kind == StepKind::kOperator) prepare(steps_.back(), nothing);
  }
  find_last_uses();
}

Runner::Operator Runner::find(const Callee& callee) {
  const size_t dot = callee.name.find('.');
  const c10::OperatorName name(callee.name.substr(0, dot),
                               dot == std::string::npos ? "" : callee.name.substr(dot + 1));
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle)
    refuse("The package calls ", callee.name,
           ", which is not there. Load the library that defines it first.");
  const std::vector<c10::Argument>& arguments = handle->schema().arguments();
  Operator found{*handle, {}, {}};
  for (const std::string& given : callee.arguments) {
    const auto at = std::ranges::find(arguments, given, name_of);
    if (at == arguments.end())
      refuse("The package gives ", callee.name, " an argument '", given,
             "' that this PyTorch's does not have. Make it anew.");
    found.places.push_back(static_cast<size_t>(at - arguments.begin()));
  }
  for (const c10::Argument& argument : arguments)
    found.defaults.push_back(argument.default_value().value_or(c10::IValue()));
  return found;
}

void Runner::prepare(Ready& ready, const Frame& nothing) const {
  const Step& step = *ready.step;
  const Operator& op = operators_[static_cast<size_t>(step.target)];
  if (step.results.size() != op.handle.schema().returns().size())
    refuse("The package wants ", step.results.size(), " results of ",
           program_.callees[static_cast<size_t>(step.target)].name, ". Make it anew.");
  ready.arguments = op.defaults;
  for (size_t i = 0; i < step.args.size(); ++i) {
    const size_t place = op.places[i];
    if (is_fixed(step.args[i])) {
      ready.arguments[place] =
          operand_of(step.args[i], op.handle.schema().arguments()[place].type(), nothing, device_);
    } else {
      ready.open.emplace_back(place, i);
    }
  }
}

// From the last step on, so that the first to name a register is the last to need it.
void Runner::find_last_uses() {
  std::vector<bool> is_needed(static_cast<size_t>(program_.registers));
  const auto need = [&](int32_t place) { is_needed[static_cast<size_t>(place)] = true; };
  for (const Argument& result : program_.results) result.for_each_ref(need);
  for (auto ready = steps_.rbegin(); ready != steps_.rend(); ++ready) {
    const auto note = [&](int32_t place) {
      if (place < program_.given || is_needed[static_cast<size_t>(place)]) return;
      need(place);
      ready->dead.push_back(place);
    };
    for (const int32_t place : ready->step->results)
      if (place >= 0) note(place);
    for (const Argument& argument : ready->step->args) argument.for_each_ref(note);
  }
}

std::vector<c10::IValue> Runner::run(Values inputs, Values weights, std::vector<Number> symbols,
                                     const Interruption& interruption) const {
  Frame frame(program_, inputs, weights, std::move(symbols));
  for (const Ready& ready : steps_) {
    run_step(ready, frame, interruption);
    for (const int32_t place : ready.dead) frame.empty(place);
  }
  std::vector<c10::IValue> results;
  results.reserve(program_.results.size());
  for (const Argument& result : program_.results) results.push_back(result_of(result, frame));
  return results;
}

void Runner::run_step(const Ready& ready, Frame& frame, const Interruption& interruption) const {
  const Step& step = *ready.step;
  const auto taken = [&] { return frame.at(step.args[0].as<int64_t>()); };
  switch (step.kind) {
    case StepKind::kOperator: return call_operator(ready, frame);
    case StepKind::kEngine: return call_engine(step, frame, interruption);
    case StepKind::kItem: return frame.fill(step.results[0], item_of(taken(), step.target));
    case StepKind::kSize: return frame.add_symbol(taken().toTensor().size(step.target));
    case StepKind::kValue: return frame.add_symbol(number_of(taken()));
  }
}

void Runner::call_operator(const Ready& ready, Frame& frame) const {
  const Step& step = *ready.step;
  const c10::OperatorHandle& handle = operators_[static_cast<size_t>(step.target)].handle;
  const std::vector<c10::Argument>& arguments = handle.schema().arguments();
  torch::jit::Stack stack = ready.arguments;
  for (const auto& [place, i] : ready.open)
    stack[place] = operand_of(step.args[i], arguments[place].type(), frame, device_);
  handle.callBoxed(&stack);
  for (size_t i = 0; i < step.results.size(); ++i)
    if (step.results[i] >= 0) frame.fill(step.results[i], std::move(stack[i]));
}

void Runner::call_engine(const Step& step, Frame& frame, const Interruption& interruption) const {
  const LoadedGroup& group = *groups_[static_cast<size_t>(step.target)];
  std::vector<at::Tensor> inputs;
  std::vector<int64_t> numbers;
  inputs.reserve(step.args.size());
  for (const Argument& argument : step.args) {
    if (argument.tag() == PLUG_VALUE_REF) {
      inputs.push_back(frame.at(argument.as<int64_t>()).toTensor());
    } else {
      numbers.push_back(to_integer(number_of(result_of(argument, frame))));
    }
  }
  std::vector<at::Tensor> outputs = group.run(inputs, numbers, interruption);
  if (outputs.size() != step.results.size())
    refuse("The package wants ", step.results.size(), " results of a group of ", outputs.size(),
           ". Make it anew.");
  for (size_t i = 0; i < outputs.size(); ++i)
    if (step.results[i] >= 0) frame.fill(step.results[i], std::move(outputs[i]));
}

c10::IValue Runner::result_of(const Argument& argument, const Frame& frame) const {
  switch (argument.tag()) {
    case PLUG_VALUE_INT: return argument.as<int64_t>();
    case PLUG_VALUE_FLOAT: return argument.as<double>();
    case PLUG_VALUE_SYMBOL: {
      const Number number = frame.number(argument.as<int64_t>());
      if (const auto* integer = std::get_if<int64_t>(&number)) return *integer;
      return std::get<double>(number);
    }
    default: return operand_of(argument, c10::AnyType::get(), frame, device_);
  }
}

}  // namespace torchplug::package
