#include "aten/decomposed/program.h"

#include <ATen/ScalarOps.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <utility>

#include "aten/host/host_scope.h"
#include "aten/tensor/strides.h"
#include "base/immortal.h"

namespace torchplug::aten {
namespace {

// Keeps the place of a tensor among a step's arguments.
const at::Tensor& placeholder() {
  static const auto& tensor = *immortal<at::Tensor>(at::empty({0}, at::device(at::kMeta)));
  return tensor;
}

bool is_host_number(const at::Tensor& tensor) { return tensor.is_cpu() && tensor.dim() == 0; }

// A tensor that a Python number has become.
bool is_python_number(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && is_host_number(value.toTensor()) &&
         value.toTensor().unsafeGetTensorImpl()->is_wrapped_number();
}

// As the step has it, whose operator wants a float, an integer or a tensor.
c10::IValue number_like(const c10::IValue& there, const c10::Scalar& number) {
  if (there.isTensor()) {
    at::Tensor tensor = at::scalar_to_tensor(number);
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
  }
  if (there.isDouble() && !number.isComplex()) return number.toDouble();
  return number;
}

bool same_number(const c10::Scalar& a, const c10::Scalar& b) {
  if (a.isComplex() || b.isComplex()) return a.isComplex() && b.isComplex() && a.equal(b.toComplexDouble());
  if (a.isIntegral(/*includeBool=*/true) && b.isIntegral(/*includeBool=*/true))
    return a.toLong() == b.toLong();
  return a.toDouble() == b.toDouble();
}

// A step's number may be another type's than the call's, if no call's could be lost by it.
bool keeps_value(const c10::IValue& there, const c10::Scalar& given) {
  if (there.isInt()) return given.isIntegral(/*includeBool=*/false);
  if (there.isTensor() && !there.toTensor().is_floating_point())
    return given.isIntegral(/*includeBool=*/false);
  return !given.isBoolean();
}

// Tensors are compared as slots; numbers on the host are not, but by their value.
bool same_value(const c10::IValue& a, const c10::IValue& b) {
  if (a.tagKind() != b.tagKind()) return false;
  if (is_list_of_tensors(a)) return a.toListRef().size() == b.toListRef().size();
  if (!a.isTensor()) return a == b;
  const auto x = number_in(a);
  const auto y = number_in(b);
  if (!x || !y) return x.has_value() == y.has_value();
  return a.toTensor().scalar_type() == b.toTensor().scalar_type() && same_number(*x, *y);
}

at::Tensor with_look(const at::Tensor& tensor, const OutputShape& look) {
  if (tensor.scalar_type() == look.dtype && same_strides(look.sizes, tensor.strides(), look.strides))
    return tensor;
  at::Tensor copy = at::empty_strided(look.sizes, look.strides, tensor.options().dtype(look.dtype));
  return copy.copy_(tensor);
}

bool makes_results(const c10::FunctionSchema& schema) {
  return std::ranges::none_of(schema.returns(),
                              [](const c10::Argument& result) { return result.alias_info() != nullptr; });
}

// By the argument of the call that both calls have in that place, if there is just one.
std::optional<size_t> argument_behind(const c10::IValue& a, const c10::IValue& b, Arguments before,
                                      Arguments after) {
  const auto x = a.isTensor() || a.isScalar() ? number_in(a) : std::nullopt;
  const auto y = b.isTensor() || b.isScalar() ? number_in(b) : std::nullopt;
  if (!x || !y) return std::nullopt;
  for (size_t i = 0; i < before.size(); ++i) {
    const auto given = number_in(before[i]);
    const auto other = number_in(after[i]);
    if (given && other && same_number(*given, *x) && same_number(*other, *y) && keeps_value(a, *given))
      return i;
  }
  return std::nullopt;
}

}  // namespace

bool are_alike(const std::vector<OutputShape>& a, const std::vector<OutputShape>& b) {
  return std::ranges::equal(a, b, [](const OutputShape& x, const OutputShape& y) {
    return x.is_tensor == y.is_tensor && x.dtype == y.dtype && x.sizes == y.sizes && x.strides == y.strides;
  });
}

std::optional<c10::Scalar> number_in(const c10::IValue& value) {
  if (value.isTensor())
    return is_python_number(value) ? std::optional(value.toTensor().item()) : std::nullopt;
  if (value.isBool() || !value.isScalar()) return std::nullopt;
  return value.toScalar();
}

std::vector<at::Tensor> Program::run(Arguments given) const {
  const HostScope below_autograd;
  std::vector<at::Tensor> tensors;
  tensors.reserve(slots_);
  for (const c10::IValue& value : given) {
    if (is_python_number(value)) continue;
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      tensors.push_back(tensor.is_cpu() ? tensor.to(device_) : tensor);
    });
  }
  tensors.resize(slots_);
  torch::jit::Stack stack;
  for (const Step& step : steps_) {
    stack = step.arguments;
    size_t next = 0;
    for (c10::IValue& value : stack) {
      replace_tensors(value, [&](const at::Tensor& tensor) {
        const Slot slot = step.slots[next++];
        return slot == kConstantSlot ? tensor : tensors[slot];
      });
    }
    for (const Step::Number& number : step.numbers)
      stack[number.argument] = number_like(step.arguments[number.argument], *number_in(given[number.given]));
    step.op.callBoxed(&stack);
    size_t result = 0;
    for (const c10::IValue& value : stack) {
      for_each_tensor(value, [&](const at::Tensor& tensor) {
        at::Tensor& place = tensors[step.first_result + result];
        place = step.makes_results ? with_look(tensor, step.results[result]) : tensor;
        ++result;
      });
    }
    for (Slot slot : step.dead) tensors[slot].reset();
  }
  std::vector<at::Tensor> results;
  results.reserve(results_.size());
  for (Slot slot : results_) results.push_back(slot == kConstantSlot ? at::Tensor() : tensors[slot]);
  return results;
}

bool Program::generalize(const Program& other, Arguments before, Arguments after) {
  if (steps_.size() != other.steps_.size() || results_ != other.results_) return false;
  std::vector<std::vector<Step::Number>> numbers(steps_.size());
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& mine = steps_[s];
    const Step& its = other.steps_[s];
    if (mine.op != its.op || mine.slots != its.slots || !are_alike(mine.results, its.results)) return false;
    for (size_t i = 0; i < mine.arguments.size(); ++i) {
      if (same_value(mine.arguments[i], its.arguments[i])) continue;
      const auto given = argument_behind(mine.arguments[i], its.arguments[i], before, after);
      if (!given) return false;
      numbers[s].push_back({i, *given});
    }
  }
  for (size_t s = 0; s < steps_.size(); ++s) steps_[s].numbers = std::move(numbers[s]);
  return true;
}

Recorder::Recorder(Arguments arguments, c10::Device device)
    : device_(device), program_(std::make_shared<Program>()) {
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) { number(tensor); });
  }
  given_ = static_cast<Slot>(alive_.size());
}

// A tensor that is there twice has the slot it had first.
void Recorder::number(const at::Tensor& tensor) {
  slots_.try_emplace(tensor.unsafeGetTensorImpl(), static_cast<Slot>(alive_.size()));
  alive_.push_back(tensor);
}

std::optional<Slot> Recorder::slot_of(const at::Tensor& tensor) const {
  const auto found = slots_.find(tensor.unsafeGetTensorImpl());
  if (found != slots_.end()) return found->second;
  return is_host_number(tensor) ? std::optional(kConstantSlot) : std::nullopt;
}

bool Recorder::add(const c10::OperatorHandle& op, torch::jit::Stack arguments,
                   const std::vector<at::Tensor>& results) {
  Step step{.op = op, .arguments = std::move(arguments)};
  bool are_known = true;
  for (c10::IValue& value : step.arguments) {
    if (value.isDevice() && value.toDevice().is_meta()) value = device_;
    replace_tensors(value, [&](const at::Tensor& tensor) {
      const auto slot = slot_of(tensor);
      are_known = are_known && slot.has_value();
      step.slots.push_back(slot.value_or(kConstantSlot));
      return slot == kConstantSlot ? tensor : placeholder();
    });
  }
  if (!are_known) return false;
  step.first_result = static_cast<Slot>(alive_.size());
  step.makes_results = makes_results(op.schema());
  for (const at::Tensor& result : results) {
    number(result);
    step.results.push_back(OutputShape::of(result));
  }
  program_->steps_.push_back(std::move(step));
  return true;
}

void Recorder::rewind(size_t count) {
  auto& steps = program_->steps_;
  if (count >= steps.size()) return;
  const Slot first = steps[count].first_result;
  std::erase_if(slots_, [&](const auto& entry) { return entry.second >= first; });
  alive_.resize(first);
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(count), steps.end());
}

std::shared_ptr<Program> Recorder::finish(const std::vector<at::Tensor>& results) {
  for (const at::Tensor& result : results) {
    const auto slot = result.defined() ? slot_of(result) : std::optional(kConstantSlot);
    if (!slot || (result.defined() && slot == kConstantSlot)) return nullptr;
    program_->results_.push_back(*slot);
  }
  program_->slots_ = static_cast<Slot>(alive_.size());
  program_->device_ = device_;
  find_last_uses();
  return std::move(program_);
}

// The memory of a result can be used again as soon as the last step that needs it has been enqueued.
void Recorder::find_last_uses() {
  std::vector<bool> is_needed(alive_.size(), false);
  for (Slot slot : program_->results_) {
    if (slot != kConstantSlot) is_needed[slot] = true;
  }
  auto& steps = program_->steps_;
  for (size_t s = steps.size(); s-- > 0;) {
    Step& step = steps[s];
    const auto note = [&](Slot slot) {
      if (slot == kConstantSlot || slot < given_ || is_needed[slot]) return;
      is_needed[slot] = true;
      step.dead.push_back(slot);
    };
    for (Slot slot : step.slots) note(slot);
    for (size_t i = 0; i < step.results.size(); ++i) note(step.first_result + static_cast<Slot>(i));
  }
}

}  // namespace torchplug::aten
