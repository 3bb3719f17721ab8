#include "aten/own/gradient_check.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>

#include "aten/plan/operator_facts.h"

namespace torchplug::aten {
namespace {

using Value = GradientText::Value;
using Entry = GradientText::Entry;

std::string counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// What may stand for what, before the values are known: a number that is not written out may turn out to be
// an integer, an optional argument to be there.
enum class Family : uint8_t { kTensor, kNumber, kBool, kText, kList, kOther };

Family family_of(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType: return Family::kTensor;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::NumberType: return Family::kNumber;
    case c10::TypeKind::BoolType: return Family::kBool;
    case c10::TypeKind::StringType: return Family::kText;
    case c10::TypeKind::ListType: return Family::kList;
    default: return Family::kOther;
  }
}

bool is_number(const c10::Type& type) { return type.kind() == c10::TypeKind::NumberType; }

bool can_stand_for(const c10::TypePtr& given, const c10::TypePtr& wanted) {
  const c10::TypePtr from = without_optional(given), to = without_optional(wanted);
  const Family family = family_of(*from), other = family_of(*to);
  if (family == Family::kOther || other == Family::kOther) return true;
  if (family == Family::kList && other == Family::kList)
    return can_stand_for(from->containedType(0), to->containedType(0));
  // A Scalar may be a bool; an integer that is written out becomes a float, not the other way round.
  if (is_number(*from) || is_number(*to))
    return family != Family::kTensor && other != Family::kTensor && family != Family::kText &&
           other != Family::kText && family != Family::kList && other != Family::kList;
  const bool loses_fraction = from->kind() == c10::TypeKind::FloatType && other == Family::kNumber &&
                              to->kind() != c10::TypeKind::FloatType;
  return family == other && !loses_fraction;
}

class Checker {
 public:
  Checker(const GradientText& text, const c10::FunctionSchema& schema, const FindOperator& find)
      : text_(text), schema_(schema), find_(find) {}

  void check(const Entry& entry) const {
    if (entry.arguments.size() > 1) return check_several(entry);
    const c10::Argument& argument = schema_.arguments()[entry.arguments.front()];
    check_fits(entry.value, argument.type(), "the gradient of '" + argument.name() + "'", /*may_lack=*/true);
  }

 private:
  void check_several(const Entry& entry) const {
    const c10::FunctionSchema* called = check_call(entry.value);
    if (called == nullptr) return;
    if (called->returns().size() != entry.arguments.size())
      text_.refuse(entry.value.place, name_of(entry.value) + " has " +
                                          counted(called->returns().size(), "result") + ", and " +
                                          counted(entry.arguments.size(), "gradient") + " are to come of it");
  }

  static std::string name_of(const Value& call) {
    return full_name(c10::OperatorName{call.operator_name, call.overload_name});
  }

  // Null for an operator that may come later.
  const c10::FunctionSchema* check_call(const Value& call) const {
    const c10::OperatorName name{call.operator_name, call.overload_name};
    const c10::FunctionSchema* called = find_(name);
    if (called == nullptr) {
      const auto space = name.getNamespace();
      if (space == "aten" || space == schema_.operator_name().getNamespace())
        text_.refuse(call.place, "there is no operator " + name_of(call) +
                                     "; name one with its overload, as in aten::mul.Tensor");
      for (const Value& value : call.values) (void)type_of(value);
      for (const Value& value : call.named) (void)type_of(value);
      return nullptr;
    }
    check_arguments(call, *called);
    return called;
  }

  void check_arguments(const Value& call, const c10::FunctionSchema& called) const {
    const auto& arguments = called.arguments();
    std::vector<bool> is_given(arguments.size());
    if (call.values.size() > arguments.size())
      text_.refuse(call.values[arguments.size()].place,
                   name_of(call) + " takes " + counted(arguments.size(), "argument") + " and is given " +
                       std::to_string(call.values.size()));
    for (size_t i = 0; i < call.values.size(); ++i) give(call, call.values[i], arguments[i], is_given, i);
    for (const Value& value : call.named) {
      const auto place = called.argumentIndexWithName(value.name);
      if (!place) text_.refuse(value.place, name_of(call) + " has no argument '" + value.name + "'");
      give(call, value, arguments[static_cast<size_t>(*place)], is_given, static_cast<size_t>(*place));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!is_given[i] && !arguments[i].default_value())
        text_.refuse(call.place, name_of(call) + " is not given its argument '" + arguments[i].name() + "'");
    }
  }

  void give(const Value& call, const Value& value, const c10::Argument& argument, std::vector<bool>& is_given,
            size_t place) const {
    if (is_given[place])
      text_.refuse(value.place, name_of(call) + " is given its argument '" + argument.name() + "' twice");
    is_given[place] = true;
    check_fits(value, argument.type(), "argument '" + argument.name() + "' of " + name_of(call),
               /*may_lack=*/false);
  }

  void check_fits(const Value& value, const c10::TypePtr& wanted, const std::string& what,
                  bool may_lack) const {
    const bool is_optional = wanted->kind() == c10::TypeKind::OptionalType;
    const c10::TypePtr inner = without_optional(wanted);
    if (value.kind == Value::Kind::kList && inner->kind() == c10::TypeKind::ListType) {
      for (const Value& item : value.values)
        check_fits(item, inner->containedType(0), "an item of " + what, may_lack);
      return;
    }
    const c10::TypePtr given = type_of(value);
    if (given == nullptr) return;
    const bool is_none = given->kind() == c10::TypeKind::NoneType;
    const bool fits = is_none ? is_optional || may_lack : can_stand_for(given, wanted);
    if (!fits)
      text_.refuse(value.place, what + " is " + wanted->str() + ", and " +
                                    (is_none ? "None" : "a " + given->str()) + " is given");
  }

  // Null where only a run tells.
  c10::TypePtr type_of(const Value& value) const {
    switch (value.kind) {
      case Value::Kind::kArgument: return schema_.arguments()[value.index].type();
      case Value::Kind::kWanted: return c10::BoolType::get();
      case Value::Kind::kResult:
      case Value::Kind::kGradient: return schema_.returns()[value.index].type();
      case Value::Kind::kConstant: return value.constant.type();
      case Value::Kind::kList: return type_of_list(value);
      case Value::Kind::kPart: return type_of_part(value);
      case Value::Kind::kCall: break;
    }
    const c10::FunctionSchema* called = check_call(value);
    if (called == nullptr) return nullptr;
    if (called->returns().size() != 1)
      text_.refuse(value.place, name_of(value) + " has " + counted(called->returns().size(), "result") +
                                    "; say which: " + name_of(value) + "(...).0");
    return called->returns().front().type();
  }

  c10::TypePtr type_of_list(const Value& list) const {
    for (const Value& item : list.values) (void)type_of(item);
    return c10::ListType::create(c10::AnyType::get());
  }

  c10::TypePtr type_of_part(const Value& part) const {
    const Value& call = part.values.front();
    const c10::FunctionSchema* called = check_call(call);
    if (called == nullptr) return nullptr;
    if (part.index >= called->returns().size())
      text_.refuse(part.place, name_of(call) + " has " + counted(called->returns().size(), "result"));
    return called->returns()[part.index].type();
  }

  const GradientText& text_;
  const c10::FunctionSchema& schema_;
  const FindOperator& find_;
};

}  // namespace

void check_gradient_calls(const GradientText& text, const c10::FunctionSchema& schema,
                          const FindOperator& find) {
  const Checker checker(text, schema, find);
  for (const Entry& entry : text.entries()) checker.check(entry);
}

}  // namespace torchplug::aten
