#include "aten/own/gradient_text.h"

#include <ATen/core/dynamic_type.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <charconv>

#include "aten/own/shape_text.h"
#include "aten/own/text_reader.h"
#include "aten/plan/operator_facts.h"

namespace torchplug::aten {
namespace {

using Value = GradientText::Value;
using Entry = GradientText::Entry;

bool has_tensors(const c10::TypePtr& type) {
  const c10::TypePtr& inner = without_optional(type);
  return inner->kind() == c10::TypeKind::TensorType || is_list_of_tensors(inner);
}

std::string title_of(const std::string& name) { return "The gradient of " + name; }

// ---- reading ----

class GradientReader {
 public:
  GradientReader(const std::string& text, const c10::FunctionSchema& schema)
      : used_arguments(schema.arguments().size()),
        used_results(schema.returns().size()),
        used_gradients(schema.returns().size()),
        reader_(title_of(full_name(schema.operator_name())), text),
        schema_(schema) {}

  std::vector<Entry> read() {
    std::vector<Entry> entries;
    do {
      entries.push_back(read_entry());
    } while (reader_.accept(";") && !reader_.is_at_end());
    if (!reader_.is_at_end()) reader_.fail("expected ';' or the end");
    return entries;
  }

  // What the text has used so far.
  std::vector<bool> used_arguments;
  std::vector<bool> used_results;
  std::vector<bool> used_gradients;

 private:
  std::optional<size_t> find(const std::string& name) const {
    const auto& arguments = schema_.arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name() == name) return i;
    }
    return std::nullopt;
  }

  [[noreturn]] void refuse(size_t begin, const std::string& why) {
    reader_.go_back(begin);
    reader_.fail(why);
  }

  Entry read_entry() {
    Entry entry;
    do {
      const size_t begin = reader_.place();
      const std::string name = reader_.expect_name("the name of an argument");
      const auto argument = find(name);
      if (!argument) refuse(begin, "there is no argument '" + name + "'");
      if (!has_tensors(schema_.arguments()[*argument].real_type()))
        refuse(begin, "'" + name + "' is not a tensor");
      if (std::find(named_.begin(), named_.end(), *argument) != named_.end())
        refuse(begin, "the gradient of '" + name + "' is there already");
      named_.push_back(*argument);
      entry.arguments.push_back(*argument);
    } while (reader_.accept(","));
    reader_.expect(":");
    const size_t begin = reader_.place();
    given_ = entry.arguments;
    entry.value = read_value();
    if (entry.arguments.size() > 1 && entry.value.kind != Value::Kind::kCall)
      refuse(begin, "expected a call of an operator that has a result for each of the arguments");
    return entry;
  }

  Value read_value() {
    const TextReader::Depth depth(reader_);
    (void)reader_.peek();
    const size_t begin = reader_.place();
    Value value = read_one();
    value.place = begin;
    return value;
  }

  Value read_one() {
    const char next = reader_.peek();
    if (next == '[') return read_list();
    if (next == '"' || next == '\'') return read_text();
    if (next == '-' || reader_.is_digit_next()) return read_number();
    const size_t begin = reader_.place();
    const std::string name = reader_.expect_name("an argument, grad, result, a number or an operator");
    if (reader_.accept("::")) return read_call(name, begin);
    if (const auto argument = find(name)) {
      used_arguments[*argument] = true;
      return {.kind = Value::Kind::kArgument, .index = *argument};
    }
    if (name == "grad") return read_result(Value::Kind::kGradient, 0, begin);
    if (name == "grads") return read_result(Value::Kind::kGradient, read_index(), begin);
    if (name == "result")
      return read_result(Value::Kind::kResult, reader_.is_next(".") ? read_index() : 0, begin);
    if (name == "wanted") return wanted();
    if (name == "True") return constant(true);
    if (name == "False") return constant(false);
    if (name == "None") return constant({});
    refuse(begin, "there is no argument '" + name + "'");
  }

  static Value constant(c10::IValue value) { return {.constant = std::move(value)}; }

  // Of each argument whose gradient the entry gives, whether it is wanted.
  Value wanted() const {
    Value list{.kind = Value::Kind::kList};
    for (const size_t argument : given_)
      list.values.push_back({.kind = Value::Kind::kWanted, .index = argument});
    return list;
  }

  size_t read_index() {
    reader_.expect(".");
    const auto index = reader_.is_digit_next() ? reader_.accept_integer() : std::nullopt;
    if (!index) reader_.fail("expected the number of a result");
    return static_cast<size_t>(*index);
  }

  Value read_result(Value::Kind kind, size_t index, size_t begin) {
    const auto& results = schema_.returns();
    if (index >= results.size())
      refuse(begin,
             "it has " + std::to_string(results.size()) + (results.size() == 1 ? " result" : " results"));
    if (kind == Value::Kind::kGradient && !has_tensors(results[index].real_type()))
      refuse(begin, "result " + std::to_string(index) + " is not a tensor and has no gradient");
    (kind == Value::Kind::kGradient ? used_gradients : used_results)[index] = true;
    return {.kind = kind, .index = index};
  }

  Value read_list() {
    Value list{.kind = Value::Kind::kList};
    reader_.expect("[");
    if (reader_.accept("]")) return list;
    do {
      list.values.push_back(read_value());
    } while (reader_.accept(","));
    if (!reader_.accept("]")) reader_.fail("expected ',' or ']'");
    return list;
  }

  Value read_text() {
    const char quote = reader_.take();
    std::string text;
    for (char c = reader_.take(); c != quote; c = reader_.take()) {
      if (c == '\0') reader_.fail(std::string("expected ") + quote);
      text += c;
    }
    return constant(text);
  }

  // An integer, or with a point or an exponent a float.
  Value read_number() {
    const size_t begin = reader_.place();
    std::string digits;
    bool is_integer = true;
    for (char c = reader_.peek(); c != '\0'; c = reader_.peek_here()) {
      const bool is_sign = c == '-' && (digits.empty() || digits.back() == 'e');
      const bool is_fraction = c == '.' || c == 'e';
      if (!is_sign && !is_fraction && (c < '0' || c > '9')) break;
      if (is_fraction) is_integer = false;
      digits += reader_.take();
    }
    int64_t integer = 0;
    double number = 0;
    const char* end = digits.data() + digits.size();
    const auto read = is_integer ? std::from_chars(digits.data(), end, integer)
                                 : std::from_chars(digits.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) refuse(begin, "'" + digits + "' is not a number");
    return is_integer ? constant(integer) : constant(number);
  }

  Value read_call(const std::string& space, size_t begin) {
    Value call{.kind = Value::Kind::kCall};
    call.operator_name = space + "::" + reader_.expect_name("the name of an operator");
    if (reader_.accept(".")) call.overload_name = reader_.expect_name("the name of an overload");
    reader_.expect("(");
    if (!reader_.accept(")")) {
      do {
        read_call_argument(call);
      } while (reader_.accept(","));
      if (!reader_.accept(")")) reader_.fail("expected ',' or ')'");
    }
    if (!reader_.is_next(".")) return call;
    Value part{.kind = Value::Kind::kPart, .index = read_index()};
    call.place = begin;
    part.values.push_back(std::move(call));
    return part;
  }

  void read_call_argument(Value& call) {
    const size_t begin = reader_.place();
    std::string name = reader_.accept_name();
    if (!name.empty() && reader_.accept("=")) {
      GradientText::Value& value = call.named.emplace_back(read_value());
      value.name = std::move(name);
      value.place = begin;
      return;
    }
    reader_.go_back(begin);
    if (!call.named.empty()) reader_.fail("expected an argument by name after one by name");
    call.values.push_back(read_value());
  }

  TextReader reader_;
  const c10::FunctionSchema& schema_;
  std::vector<size_t> named_;
  std::vector<size_t> given_;  // by the entry that is being read
};

// ---- evaluating ----

// A list as the operator's schema wants it.
c10::IValue list_of(const c10::ivalue::TupleElements& items, const c10::TypePtr& element) {
  c10::impl::GenericList list(element);
  const bool are_floats = element->kind() == c10::TypeKind::FloatType;
  for (const c10::IValue& item : items) {
    list.push_back(are_floats && item.isInt() ? c10::IValue(static_cast<double>(item.toInt())) : item);
  }
  return list;
}

// Numbers are written without regard to whether the operator takes an integer or a float, lists without their
// type.
c10::IValue as_type(const c10::IValue& value, const c10::TypePtr& type) {
  if (const auto* optional = type->castRaw<c10::OptionalType>())
    return value.isNone() ? value : as_type(value, optional->getElementType());
  if (value.isInt() && type->kind() == c10::TypeKind::FloatType) return static_cast<double>(value.toInt());
  const auto* list = type->castRaw<c10::ListType>();
  if (value.isTuple() && list != nullptr)
    return list_of(value.toTupleRef().elements(), list->getElementType());
  return value;
}

std::optional<size_t> place_of(const c10::FunctionSchema& schema, const std::string& name) {
  const auto place = schema.argumentIndexWithName(name);
  return place ? std::optional(static_cast<size_t>(*place)) : std::nullopt;
}

}  // namespace

GradientText::GradientText(const std::string& text, const c10::FunctionSchema& schema)
    : name_(full_name(schema.operator_name())), text_(text) {
  GradientReader reader(text, schema);
  entries_ = reader.read();
  used_arguments_ = std::move(reader.used_arguments);
  used_results_ = std::move(reader.used_results);
  used_gradients_ = std::move(reader.used_gradients);
}

void GradientText::refuse(size_t place, const std::string& why) const {
  TextReader reader(title_of(name_), text_);
  reader.go_back(place);
  reader.fail(why);
}

std::string GradientText::whose() const { return name_ + ": its gradient, \"" + text_ + "\","; }

bool GradientText::names(size_t argument) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return std::ranges::find(entry.arguments, argument) != entry.arguments.end();
  });
}

std::vector<c10::IValue> GradientText::compute(const Entry& entry, const GradientValues& values) const {
  if (entry.arguments.size() == 1) return {evaluate(entry.value, values)};
  std::vector<c10::IValue> results = call(entry.value, values);
  TORCH_CHECK(results.size() == entry.arguments.size(), whose(), " takes ", entry.arguments.size(),
              " results of ", entry.value.operator_name, ", which has ", results.size(), ".");
  return results;
}

c10::IValue GradientText::evaluate(const Value& value, const GradientValues& values) const {
  switch (value.kind) {
    case Value::Kind::kArgument: return values.arguments[value.index];
    case Value::Kind::kWanted: return bool{values.wanted[value.index]};
    case Value::Kind::kResult: return values.results[value.index];
    case Value::Kind::kGradient: return values.gradients[value.index];
    case Value::Kind::kConstant: return value.constant;
    case Value::Kind::kList: {
      std::vector<c10::IValue> items;
      items.reserve(value.values.size());
      for (const Value& item : value.values) items.push_back(evaluate(item, values));
      return c10::ivalue::Tuple::create(std::move(items));
    }
    case Value::Kind::kPart: {
      const std::vector<c10::IValue> results = call(value.values.front(), values);
      TORCH_CHECK(value.index < results.size(), whose(), " takes result ", value.index, " of ",
                  value.values.front().operator_name, ", which has ", results.size(), ".");
      return results[value.index];
    }
    case Value::Kind::kCall: break;
  }
  const std::vector<c10::IValue> results = call(value, values);
  TORCH_CHECK(results.size() == 1, whose(), " takes one result of ", value.operator_name, ", which has ",
              results.size(), ". Say which: ", value.operator_name, "(...).0.");
  return results.front();
}

std::vector<c10::IValue> GradientText::call(const Value& value, const GradientValues& values) const {
  const c10::OperatorName name{value.operator_name, value.overload_name};
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  TORCH_CHECK(handle, whose(), " calls ", full_name(name),
              ", and there is no such operator. Name one with its overload, as in aten::mul.Tensor, and load "
              "the library that defines it.");
  const c10::FunctionSchema& schema = handle->schema();
  torch::jit::Stack stack;
  for (size_t i = 0; i < value.values.size(); ++i) {
    const bool is_known = i < schema.arguments().size();
    const c10::IValue given = evaluate(value.values[i], values);
    stack.push_back(is_known ? as_type(given, schema.arguments()[i].type()) : given);
  }
  std::unordered_map<std::string, c10::IValue> named;
  for (const Value& given : value.named) {
    const auto place = place_of(schema, given.name);
    const c10::IValue evaluated = evaluate(given, values);
    named[given.name] = place ? as_type(evaluated, schema.arguments()[*place].type()) : evaluated;
  }
  run(*handle, stack, named);
  return stack;
}

// What PyTorch says of the call does not say whose it is. Its other type of tensors has their sizes, which
// would close those that a trace leaves open.
void GradientText::run(const c10::OperatorHandle& handle, torch::jit::Stack& stack,
                       const std::unordered_map<std::string, c10::IValue>& named) const {
  try {
    handle.schema().checkAndNormalizeInputs<c10::DynamicType>(stack, named);
    handle.callBoxed(&stack);
  } catch (c10::Error& error) {
    error.add_context("in the gradient of " + name_ + ", \"" + text_ + "\"");
    throw;
  }
}

}  // namespace torchplug::aten
