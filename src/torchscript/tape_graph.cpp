#include "torchscript/tape_graph.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/TypeProperties.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "aten/plan/operator_facts.h"
#include "base/dtype.h"
#include "torchscript/arguments.h"

namespace torchplug::torchscript {
namespace {

using compile::Compiler;
using graph::Argument;
using graph::TensorType;

const char* const kConvert = "aten::_to_copy";

std::vector<int64_t> row_after_row(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

// A node of which no more is said than what it waits for.
std::string opaque_schema(size_t results) {
  std::string returns = results == 1 ? "Tensor" : "(";
  for (size_t i = 0; results != 1 && i < results; ++i) returns += i == 0 ? "Tensor" : ", Tensor";
  return "torchplug::opaque(Tensor[] xs) -> " + returns + (results == 1 ? "" : ")");
}

bool is_pointwise(const c10::OperatorHandle& op) {
  static constexpr const char* kCopies[] = {"aten::_to_copy", "aten::copy", "aten::clone"};
  const std::string& name = op.operator_name().name;
  return op.hasTag(at::Tag::pointwise) &&
         std::ranges::none_of(kCopies, [&](const char* copy) { return name == copy; });
}

class Grapher {
 public:
  Grapher(const Tape& tape, const Compiler& compiler) : tape_(tape), compiler_(compiler) {
    made_.value_of.assign(tape.registers.size(), -1);
  }

  TapeGraph make(const std::vector<bool>& is_weight, const std::vector<int32_t>& needed) {
    for (size_t i = 0; i < tape_.inputs; ++i) add_input(static_cast<int32_t>(i), is_weight[i]);
    for (const TapeStep& step : tape_.steps) add_step(step);
    std::vector<graph::Output> outputs;
    for (const int32_t place : needed)
      if (value_of(place) >= 0) outputs.push_back({value_of(place), -1});
    made_.graph.set_outputs(std::move(outputs));
    return std::move(made_);
  }

 private:
  const RegisterFacts& facts_of(int32_t place) const { return tape_.registers[static_cast<size_t>(place)]; }
  int32_t value_of(int32_t place) const { return made_.value_of[static_cast<size_t>(place)]; }

  bool is_on_device(int32_t place) const {
    const RegisterFacts& facts = facts_of(place);
    return facts.device.type() == kDeviceType && facts.device.index() == compiler_.device() &&
           to_plug_dtype(facts.dtype).has_value();
  }

  void keep(int32_t place, int32_t value) {
    made_.value_of[static_cast<size_t>(place)] = value;
    made_.register_of.resize(static_cast<size_t>(value) + 1, -1);
    made_.register_of[static_cast<size_t>(value)] = place;
  }

  void add_input(int32_t place, bool is_weight) {
    if (is_on_device(place))
      keep(place, made_.graph.add_input(type_of(facts_of(place), compiler_), {}, is_weight));
  }

  void add_step(const TapeStep& step) {
    std::string why;
    if (auto args = arguments_of(step, why)) {
      const Binding& binding = *compiler_.find(aten::full_name(step.op.operator_name()));
      add_node(step, binding.kernel->schema, compiler_.place_of(binding), *std::move(args));
      made_.candidates.push_back({true, step.is_view, ""});
    } else {
      std::vector<int64_t> refs;
      for (const Operand& operand : step.operands)
        for (const int32_t place : operand.registers)
          if (place >= 0 && value_of(place) >= 0) refs.push_back(value_of(place));
      add_node(step, opaque_schema(step.results.size()), -1, {Argument::refs(std::move(refs))});
      made_.candidates.push_back({false, step.is_view, why});
    }
  }

  // Results that are on no device have a value too, for the order of what follows.
  void add_node(const TapeStep& step, const std::string& schema, int32_t place, std::vector<Argument> args) {
    std::vector<std::optional<TensorType>> types;
    for (const int32_t result : step.results) {
      types.emplace_back();
      if (result >= 0) types.back() = is_known(result) ? type_of(facts_of(result), compiler_) : unknown();
    }
    const int32_t node =
        made_.graph.add_node(made_.graph.add_operator(schema, place), std::move(args), std::move(types));
    const std::vector<int32_t> values = made_.graph.nodes()[static_cast<size_t>(node)].results;
    for (size_t i = 0; i < values.size(); ++i)
      if (step.results[i] >= 0 && values[i] >= 0) keep(step.results[i], values[i]);
  }

  bool is_known(int32_t place) const { return to_plug_dtype(facts_of(place).dtype).has_value(); }
  static TensorType unknown() { return graph::contiguous(PLUG_I64, {0}); }

  // Nothing, with the reason, for a step that is not for the compiler.
  std::optional<std::vector<Argument>> arguments_of(const TapeStep& step, std::string& why) const {
    const Binding* binding = compiler_.find(aten::full_name(step.op.operator_name()));
    if (binding == nullptr) return refuse(why, "the compiler does not list it");
    if (gives_list(step)) return refuse(why, "it gives a list");
    const auto is_foreign = [&](int32_t place) { return place >= 0 && !is_on_device(place); };
    if (std::ranges::any_of(step.results, is_foreign))
      return refuse(why, "its results are not all tensors of the device");
    const auto has_gaps = [&](int32_t place) { return place >= 0 && !is_dense(facts_of(place)); };
    if (!step.is_view && std::ranges::any_of(step.results, has_gaps))
      return refuse(why, "its results are to have gaps between their elements");
    if (rounds_late(step)) return refuse(why, "it computes halves with a number of more precision");
    std::vector<std::optional<Argument>> given = encode(step);
    for (const size_t place : binding->unknown_arguments)
      if (!is_default(step, place)) return refuse(why, "the compiler does not know one of its arguments");
    std::vector<Argument> args;
    for (size_t i = 0; i < binding->argument_of.size(); ++i) {
      std::optional<Argument>& one = given[binding->argument_of[i]];
      if (!one) return refuse(why, "plug.h has no form for one of its arguments");
      if (one->tag() == PLUG_NONE && binding->needs_value[i])
        return refuse(why, "the compiler needs an argument that is None");
      args.push_back(*std::move(one));
    }
    return args;
  }

  // PyTorch's kernels compute halves in float32, and take a number of that precision as it is.
  bool rounds_late(const TapeStep& step) const {
    const auto is_half = [&](int32_t place) {
      return place >= 0 && at::isReducedFloatingType(facts_of(place).dtype);
    };
    const auto is_wide_number = [&](const Operand& operand) {
      if (operand.is_list || operand.registers[0] < 0 || tape_.is_constant(operand.registers[0]))
        return false;
      const RegisterFacts& facts = facts_of(operand.registers[0]);
      return facts.sizes.empty() && (facts.dtype == at::kFloat || facts.dtype == at::kDouble);
    };
    return is_pointwise(step.op) && std::ranges::any_of(step.results, is_half) &&
           std::ranges::any_of(step.operands, is_wide_number);
  }

  static std::nullopt_t refuse(std::string& why, const char* reason) {
    why = reason;
    return std::nullopt;
  }

  static bool gives_list(const TapeStep& step) {
    const auto& returns = step.op.schema().returns();
    return std::ranges::any_of(
        returns, [](const c10::Argument& one) { return one.type()->kind() != c10::TypeKind::TensorType; });
  }

  static bool is_default(const TapeStep& step, size_t place) {
    const auto& known = step.op.schema().arguments()[place].default_value();
    const bool is_tensor =
        std::ranges::any_of(step.operands, [&](const Operand& one) { return one.argument == place; });
    return known && !is_tensor && *known == step.arguments[place];
  }

  std::vector<std::optional<Argument>> encode(const TapeStep& step) const {
    const auto& parameters = step.op.schema().arguments();
    std::vector<std::optional<Argument>> encoded;
    for (size_t i = 0; i < parameters.size(); ++i)
      encoded.push_back(argument_of(step.arguments[i], parameters[i].real_type(), compiler_.device()));
    for (const Operand& operand : step.operands)
      encoded[operand.argument] = operand.is_list ? refs_of(operand) : ref_of(operand.registers[0]);
    return encoded;
  }

  std::optional<Argument> ref_of(int32_t place) const {
    if (place < 0) return Argument();
    if (is_on_device(place)) {
      if (value_of(place) < 0) return std::nullopt;
      return Argument::ref(value_of(place));
    }
    if (!tape_.is_constant(place)) return std::nullopt;
    const at::Tensor& number = tape_.constant(place);
    if (number.dim() != 0 || !number.is_cpu()) return std::nullopt;
    return argument_of_number(number.item());
  }

  std::optional<Argument> refs_of(const Operand& operand) const {
    std::vector<int64_t> refs;
    for (const int32_t place : operand.registers) {
      if (place >= 0 && (!is_on_device(place) || value_of(place) < 0)) return std::nullopt;
      refs.push_back(place < 0 ? -1 : value_of(place));
    }
    return Argument::refs(std::move(refs));
  }

  const Tape& tape_;
  const Compiler& compiler_;
  TapeGraph made_;
};

// ---- dtypes ----

// The place of an argument that chooses, and is not computed with.
size_t choosing(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  if (name == "aten::where") return 0;
  return name == "aten::masked_fill" ? 1 : static_cast<size_t>(-1);
}

class Converter {
 public:
  Converter(Tape& tape, const Compiler& compiler) : tape_(tape), compiler_(compiler) {}

  void convert() {
    const auto op = aten::find_operator(kConvert);
    if (!op) return;
    std::vector<TapeStep> before = std::exchange(tape_.steps, {});
    for (TapeStep& step : before) {
      const auto dtype = dtype_of(step);
      for (Operand& operand : step.operands)
        if (dtype && operand.argument != choosing(step.op)) convert_operand(*op, operand, *dtype);
      tape_.steps.push_back(std::move(step));
    }
  }

 private:
  const RegisterFacts& facts_of(int32_t place) const { return tape_.registers[static_cast<size_t>(place)]; }

  // That its tensors are computed in; nothing where they have one already, or PyTorch has rules of its own.
  std::optional<at::ScalarType> dtype_of(const TapeStep& step) const {
    const bool is_listed = compiler_.find(aten::full_name(step.op.operator_name())) != nullptr;
    if (!is_listed || !is_pointwise(step.op) || step.results.size() != 1) return std::nullopt;
    const at::ScalarType result = facts_of(step.results[0]).dtype;
    at::native::ResultTypeState state{};
    std::vector<at::ScalarType> dtypes;
    for (const Operand& operand : step.operands) {
      if (operand.is_list || operand.registers[0] < 0) return std::nullopt;
      if (operand.argument == choosing(step.op)) continue;
      const at::Tensor alike = alike_of(operand.registers[0]);
      if (!tape_.is_constant(operand.registers[0])) {
        if (facts_of(operand.registers[0]).device != facts_of(step.results[0]).device) return std::nullopt;
        dtypes.push_back(alike.scalar_type());
      }
      state = at::native::update_result_type_state(alike, state);
    }
    for (const at::Scalar& number : numbers_of(step))
      state = at::native::update_result_type_state(number, state);
    if (dtypes.empty() || at::isComplexType(result)) return std::nullopt;
    at::ScalarType common = at::native::result_type(state);
    if (at::isComplexType(common)) return std::nullopt;
    const bool is_wider = at::isFloatingType(result) && !at::isFloatingType(common);
    if (is_wider || choosing(step.op) != static_cast<size_t>(-1)) common = result;
    const bool is_mixed = std::ranges::any_of(dtypes, [&](at::ScalarType one) { return one != common; });
    return is_mixed ? std::optional(common) : std::nullopt;
  }

  // That it computes with, as with its tensors.
  static std::vector<at::Scalar> numbers_of(const TapeStep& step) {
    const auto& parameters = step.op.schema().arguments();
    std::vector<at::Scalar> numbers;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const bool is_operand = !parameters[i].kwarg_only() && i != choosing(step.op) &&
                              parameters[i].type()->kind() == c10::TypeKind::NumberType;
      if (is_operand && step.arguments[i].isScalar()) numbers.push_back(step.arguments[i].toScalar());
    }
    return numbers;
  }

  // A tensor without content, of the same rank and dtype.
  at::Tensor alike_of(int32_t place) const {
    if (tape_.is_constant(place)) return tape_.constant(place);
    const RegisterFacts& facts = facts_of(place);
    return at::Tensor(at::detail::empty_meta(facts.sizes, facts.dtype));
  }

  void convert_operand(const c10::OperatorHandle& op, Operand& operand, at::ScalarType dtype) {
    int32_t& place = operand.registers[0];
    if (tape_.is_constant(place) || facts_of(place).dtype == dtype) return;
    RegisterFacts facts = facts_of(place);
    facts.dtype = dtype;
    if (!is_dense(facts)) facts.strides = row_after_row(facts.sizes);
    const auto converted = static_cast<int32_t>(tape_.registers.size());
    tape_.registers.push_back(std::move(facts));
    std::vector<c10::IValue> arguments;
    for (const c10::Argument& one : op.schema().arguments())
      arguments.push_back(one.default_value().value_or(c10::IValue()));
    arguments[1] = dtype;
    tape_.steps.push_back({op, std::move(arguments), {{0, {place}, false}}, {converted}, false});
    place = converted;
  }

  Tape& tape_;
  const Compiler& compiler_;
};

}  // namespace

bool is_dense(const RegisterFacts& facts) {
  std::vector<size_t> order(facts.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return facts.strides[a] < facts.strides[b]; });
  int64_t expected = 1;
  for (const size_t i : order) {
    if (facts.sizes[i] == 0) return true;
    if (facts.sizes[i] == 1) continue;
    if (facts.strides[i] != expected) return false;
    expected *= facts.sizes[i];
  }
  return true;
}

graph::TensorType type_of(const RegisterFacts& facts, const Compiler& compiler) {
  const bool is_as_it_is = compiler.has(PLUG_COMPILER_STRIDED) && is_dense(facts);
  return {to_plug_dtype(facts.dtype).value_or(0), facts.sizes,
          is_as_it_is ? facts.strides : row_after_row(facts.sizes)};
}

TapeGraph make_graph(const Tape& tape, const Compiler& compiler, const std::vector<bool>& is_weight,
                     const std::vector<int32_t>& needed) {
  return Grapher(tape, compiler).make(is_weight, needed);
}

void add_conversions(Tape& tape, const Compiler& compiler) { Converter(tape, compiler).convert(); }

}  // namespace torchplug::torchscript
