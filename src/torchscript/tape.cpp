#include "torchscript/tape.h"

#include <ATen/core/List.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "aten/plan/operator_facts.h"
#include "runtime/device.h"
#include "torchscript/effects.h"

namespace torchplug::torchscript {
namespace {

using Impl = const c10::TensorImpl*;
using Impls = std::unordered_set<Impl>;

// Calls visit(tensor) for each tensor of a value that is one or a list of some, undefined ones too.
template <class Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef())
      if (item.isTensor()) visit(item.toTensor());
  }
}

bool has_tensors(const c10::IValue& value) {
  if (value.isTensor()) return true;
  if (!value.isList()) return false;
  const auto items = value.toListRef();
  return std::ranges::any_of(items, [](const c10::IValue& item) { return item.isTensor(); });
}

Impl impl_of(const at::Tensor& tensor) { return tensor.unsafeGetTensorImpl(); }

void add_impls(c10::ArrayRef<c10::IValue> values, Impls& impls) {
  for (const c10::IValue& value : values)
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (tensor.defined()) impls.insert(impl_of(tensor));
    });
}

bool is_random(const RecordedCall& call) {
  return draws_random(call.op, arguments_of(call.op, call.arguments));
}
bool is_writing(const RecordedCall& call) {
  return call.op.schema().is_mutable() || writes_unsaid(call.op, arguments_of(call.op, call.arguments));
}
bool depends_on_data(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::data_dependent_output) || op.hasTag(at::Tag::dynamic_output_shape);
}

// A number that stands in the place of a tensor.
bool is_number(const at::Tensor& tensor) { return tensor.is_cpu() && tensor.dim() == 0; }

class Tapewriter {
 public:
  Tapewriter(const Recording& recording, const IsTakenWhole& is_whole, const Decompositions* decompositions)
      : recording_(recording), is_whole_(is_whole), decompositions_(decompositions) {}

  std::variant<Tape, std::string> write(c10::ArrayRef<c10::IValue> inputs,
                                        c10::ArrayRef<c10::IValue> outputs) {
    for (const at::Tensor& tensor : tensors_in(inputs)) add_input(tensor);
    for (const int32_t root : recording_.roots())
      for (const RecordedCall* call : parts_of(recording_, root)) kept_.push_back(call);
    find_constants();
    if (!why_.empty()) return why_;
    for (const RecordedCall* call : kept_) add_step(*call);
    for (const c10::IValue& output : outputs) add_result(output);
    if (!why_.empty()) return why_;
    drop_unneeded();
    return std::move(tape_);
  }

 private:
  // ---- which calls stand for one ----

  using Calls = std::vector<const RecordedCall*>;

  Calls parts_of(const Recording& recording, int32_t number) {
    const RecordedCall& call = recording.call(number);
    if (is_nothing(recording, call)) return {};
    const bool is_wrapped = is_wrapper(recording, call);
    if (is_whole_(call.op) && !is_wrapped) return {&call};
    const auto reads = [&](int32_t part) { return reads_data(recording, recording.call(part)); };
    const bool may_expand = !is_writing(call) && !std::ranges::any_of(call.parts, reads);
    if (may_expand && (is_wrapped || !call.op.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1))) {
      Calls parts;
      for (const int32_t part : call.parts)
        for (const RecordedCall* one : parts_of(recording, part)) parts.push_back(one);
      if (stand_for(parts, call)) return parts;
    }
    const Calls apart = taken_apart(call);
    return apart.empty() ? Calls{&call} : apart;
  }

  // By the table, if all that is in it the compiler takes; empty: it is not.
  Calls taken_apart(const RecordedCall& call) {
    const bool is_known = decompositions_ != nullptr &&
                          decompositions_->names.contains(aten::full_name(call.op.operator_name()));
    if (!is_known || is_writing(call) || is_random(call)) return {};
    std::vector<c10::IValue> results;
    auto recording =
        std::make_unique<Recording>([&] { results = decompositions_->run(call.op, call.arguments); });
    const auto reads = [&](int32_t root) { return reads_data(*recording, recording->call(root)); };
    if (std::ranges::any_of(recording->roots(), reads)) return {};
    const std::vector<at::Tensor> expected = tensors_in(call.results);
    const std::vector<at::Tensor> found = tensors_in(results);
    if (!std::ranges::equal(expected, found, are_alike)) return {};
    Calls parts;
    for (size_t i = 0; i < found.size(); ++i) recording->replace(found[i], expected[i]);
    for (const int32_t root : recording->roots())
      for (const RecordedCall* one : parts_of(*recording, root)) parts.push_back(one);
    const auto is_taken = [&](const RecordedCall* one) { return is_whole_(one->op) || is_no_work(*one); };
    if (!std::ranges::all_of(parts, is_taken) || !stand_for(parts, call)) return {};
    apart_.push_back(std::move(recording));
    return parts;
  }

  static bool are_alike(const at::Tensor& a, const at::Tensor& b) {
    return a.defined() == b.defined() &&
           (!a.defined() || (a.scalar_type() == b.scalar_type() && a.device() == b.device() &&
                             a.sizes() == b.sizes() && a.strides() == b.strides()));
  }

  static bool is_no_work(const RecordedCall& call) {
    const std::vector<at::Tensor> results = tensors_in(call.results);
    return std::ranges::all_of(
        results, [](const at::Tensor& one) { return !one.defined() || one.is_cpu() || one.numel() == 0; });
  }

  // Autocast's kernel for an operator asks for the operator again.
  static bool is_wrapper(const Recording& recording, const RecordedCall& call) {
    return std::ranges::any_of(call.parts, [&](int32_t part) { return recording.call(part).op == call.op; });
  }

  // It gives what it was given, or no tensor at all.
  bool is_nothing(const Recording& recording, const RecordedCall& call) {
    if (is_writing(call)) return false;
    Impls given;
    Impls made;
    add_impls(call.arguments, given);
    add_impls(call.results, made);
    if (made.empty() && reads_data(recording, call))
      refuse("a number of the host's depends on what is computed");
    return std::ranges::all_of(made, [&](Impl one) { return given.contains(one); });
  }

  // What it gives to the host depends on contents of tensors.
  static bool reads_data(const Recording& recording, const RecordedCall& call) {
    if (depends_on_data(call.op) && !tensors_in(call.arguments).empty()) return true;
    return std::ranges::any_of(call.parts,
                               [&](int32_t part) { return reads_data(recording, recording.call(part)); });
  }

  // Whether it is about tensors of the device, or those that the group is given; others are made of sizes.
  bool is_of_call(const RecordedCall& call) const {
    const std::vector<at::Tensor> tensors = tensors_in(call.arguments);
    return std::ranges::any_of(tensors, [&](const at::Tensor& one) {
      return one.defined() && (!one.is_cpu() || place_of_.contains(impl_of(one)));
    });
  }

  static bool stand_for(const Calls& parts, const RecordedCall& call) {
    Impls known;
    add_impls(call.arguments, known);
    for (const RecordedCall* one : parts) {
      const RecordedCall& part = *one;
      if (is_writing(part) || is_random(part) || depends_on_data(part.op)) return false;
      for (const at::Tensor& tensor : tensors_in(part.arguments))
        if (tensor.defined() && !known.contains(impl_of(tensor)) && !is_number(tensor)) return false;
      add_impls(part.results, known);
    }
    Impls made;
    add_impls(call.results, made);
    return std::ranges::all_of(made, [&](Impl one) { return known.contains(one); });
  }

  // ---- registers ----

  void add_input(const at::Tensor& tensor) {
    const int32_t place = add_register(tensor);
    if (tensor.defined()) place_of_.try_emplace(impl_of(tensor), place);
    tape_.inputs += 1;
  }

  int32_t add_register(const at::Tensor& tensor) {
    RegisterFacts facts;
    if (tensor.defined()) {
      facts = {
          tensor.scalar_type(), tensor.device(), tensor.sizes().vec(),
          tensor.layout() == c10::kStrided ? tensor.strides().vec() : std::vector<int64_t>(tensor.dim())};
    }
    tape_.registers.push_back(std::move(facts));
    return static_cast<int32_t>(tape_.registers.size()) - 1;
  }

  // What comes from none of the inputs, and the calls that are about nothing else: the same in every call.
  void find_constants() {
    Impls made;
    for (const auto& [impl, place] : place_of_) made.insert(impl);
    std::erase_if(kept_, [&](const RecordedCall* one_kept) {
      const RecordedCall& call = *one_kept;
      const std::vector<at::Tensor> given = tensors_in(call.arguments);
      const std::vector<at::Tensor> results = tensors_in(call.results);
      const bool is_made = std::ranges::any_of(
          given, [&](const at::Tensor& one) { return one.defined() && made.contains(impl_of(one)); });
      const auto is_on_host = [](const at::Tensor& one) { return !one.defined() || one.is_cpu(); };
      const bool is_constant =
          !is_made && !is_writing(call) && !is_random(call) && std::ranges::all_of(results, is_on_host);
      if (!is_constant) add_impls(call.results, made);
      return is_constant;
    });
    for (const RecordedCall* call : kept_)
      for (const at::Tensor& one : tensors_in(call->arguments)) add_constant(one, made);
  }

  void add_constant(const at::Tensor& tensor, const Impls& made) {
    if (!tensor.defined() || made.contains(impl_of(tensor)) || place_of_.contains(impl_of(tensor))) return;
    if (!tensor.is_cpu()) return refuse("it uses a tensor of the device that no operator has made");
    place_of_.emplace(impl_of(tensor), add_register(tensor));
    tape_.constants.push_back(tensor);
  }

  // ---- steps ----

  void add_step(const RecordedCall& call) {
    if (is_writing(call)) return refuse("it calls " + name_of(call) + ", which writes a tensor");
    if (is_random(call)) return refuse("it calls " + name_of(call) + ", which draws random numbers");
    if (depends_on_data(call.op))
      return refuse("what " + name_of(call) + " gives has a size that depends on what is computed");
    TapeStep step{call.op, call.arguments, {}, {}, false};
    for (size_t i = 0; i < call.arguments.size(); ++i) add_operand(call.arguments[i], i, step);
    const std::vector<at::Tensor> given = tensors_in(call.arguments);
    for (const at::Tensor& result : tensors_in(call.results)) {
      step.is_view = step.is_view || std::ranges::any_of(given, [&](const at::Tensor& one) {
                       return one.defined() && result.defined() && one.has_storage() &&
                              result.has_storage() && one.is_alias_of(result);
                     });
      step.results.push_back(result.defined() ? place_of_result(result) : -1);
    }
    const bool is_simple =
        step.operands.size() == 1 && !step.operands[0].is_list && step.operands[0].registers[0] >= 0;
    if (step.is_view && !is_simple)
      return refuse("what " + name_of(call) + " gives shares memory with one of several tensors");
    tape_.steps.push_back(std::move(step));
  }

  static std::string name_of(const RecordedCall& call) { return aten::full_name(call.op.operator_name()); }

  void add_operand(const c10::IValue& value, size_t argument, TapeStep& step) {
    if (!has_tensors(value)) return;
    Operand operand{argument, {}, value.isList()};
    const auto add = [&](const at::Tensor& tensor) {
      operand.registers.push_back(tensor.defined() ? place_of_.at(impl_of(tensor)) : -1);
    };
    if (value.isTensor()) {
      add(value.toTensor());
    } else {
      for (const c10::IValue& item : value.toListRef()) add(item.isTensor() ? item.toTensor() : at::Tensor());
    }
    step.arguments[argument] = c10::IValue();
    step.operands.push_back(std::move(operand));
  }

  int32_t place_of_result(const at::Tensor& result) {
    const auto found = place_of_.find(impl_of(result));
    if (found != place_of_.end()) return found->second;
    const int32_t place = add_register(result);
    place_of_.emplace(impl_of(result), place);
    return place;
  }

  // ---- results ----

  void add_result(const c10::IValue& output) {
    TapeResult result;
    result.is_list = output.isList();
    result.is_tensor = output.isTensor() || output.isTensorList();
    if (!result.is_tensor) {
      if (has_tensors(output)) return refuse("it gives a list that is not all tensors");
      result.fixed = output;
    }
    for_each_tensor(output, [&](const at::Tensor& tensor) {
      if (!tensor.defined()) return result.registers.push_back(-1);
      const auto found = place_of_.find(impl_of(tensor));
      if (found == place_of_.end() && !tensor.is_cpu())
        return refuse("it gives a tensor of the device that no operator has made");
      if (found == place_of_.end()) return refuse("it gives a tensor that is always the same");
      result.registers.push_back(found->second);
    });
    tape_.results.push_back(std::move(result));
  }

  void drop_unneeded() {
    std::unordered_set<int32_t> needed;
    for (const TapeResult& result : tape_.results)
      needed.insert(result.registers.begin(), result.registers.end());
    for (auto step = tape_.steps.rbegin(); step != tape_.steps.rend(); ++step) {
      const auto is_needed = [&](int32_t place) { return place >= 0 && needed.contains(place); };
      if (std::ranges::none_of(step->results, is_needed)) {
        step->results.clear();
        continue;
      }
      for (const Operand& operand : step->operands)
        needed.insert(operand.registers.begin(), operand.registers.end());
    }
    std::erase_if(tape_.steps, [](const TapeStep& step) { return step.results.empty(); });
  }

  void refuse(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }

  const Recording& recording_;
  const IsTakenWhole& is_whole_;
  const Decompositions* decompositions_;
  Tape tape_;
  Calls kept_;
  std::vector<std::unique_ptr<Recording>> apart_;  // of operators that were taken apart
  std::unordered_map<Impl, int32_t> place_of_;
  std::string why_;
};

c10::IValue list_of(const Operand& operand, const Registers& registers, const c10::TypePtr& type) {
  const auto at = [&](int32_t place) {
    return place < 0 ? at::Tensor() : registers[static_cast<size_t>(place)];
  };
  const auto list = type->cast<c10::ListType>();
  if (list != nullptr && list->getElementType()->kind() == c10::TypeKind::OptionalType) {
    c10::List<std::optional<at::Tensor>> items;
    for (const int32_t place : operand.registers)
      items.push_back(place < 0 ? std::nullopt : std::optional(at(place)));
    return items;
  }
  c10::List<at::Tensor> items;
  for (const int32_t place : operand.registers) items.push_back(at(place));
  return items;
}

}  // namespace

std::vector<at::Tensor> tensors_in(c10::ArrayRef<c10::IValue> values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values)
    for_each_tensor(value, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

void TapeStep::run(Registers& registers) const {
  std::vector<c10::IValue> stack = arguments;
  for (const Operand& operand : operands) {
    if (operand.is_list) {
      stack[operand.argument] = list_of(operand, registers, op.schema().arguments()[operand.argument].type());
    } else if (operand.registers[0] >= 0) {
      stack[operand.argument] = registers[static_cast<size_t>(operand.registers[0])];
    }
  }
  op.callBoxed(&stack);
  const std::vector<at::Tensor> made = tensors_in(stack);
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i] >= 0) registers[static_cast<size_t>(results[i])] = made[i];
}

std::variant<Tape, std::string> make_tape(const Recording& recording, c10::ArrayRef<c10::IValue> inputs,
                                          c10::ArrayRef<c10::IValue> outputs, const IsTakenWhole& is_whole,
                                          const Decompositions* decompositions) {
  return Tapewriter(recording, is_whole, decompositions).write(inputs, outputs);
}

}  // namespace torchplug::torchscript
