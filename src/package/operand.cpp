#include "package/operand.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>

#include <optional>

#include "base/dtype.h"

namespace torchplug::package {
namespace {

[[noreturn]] void refuse_operand(const c10::TypePtr& type) {
  refuse("The package gives an operator something else than the ", type->str(),
         " that it takes. Make it anew.");
}

// A number in the place of a tensor, as PyTorch has `x * 2`: its dtype does not count.
at::Tensor wrapped(const c10::Scalar& number) {
  at::Tensor tensor = at::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

class Operand {
 public:
  Operand(const Frame& frame, c10::Device device) : frame_(frame), device_(device) {}

  c10::IValue of(const Argument& argument, const c10::TypePtr& type) const {
    if (const auto optional = type->cast<c10::OptionalType>()) {
      return argument.tag() == PLUG_NONE ? c10::IValue() : of(argument, optional->getElementType());
    }
    if (const auto list = type->cast<c10::ListType>()) return list_of(argument, list->getElementType());
    switch (argument.tag()) {
      case PLUG_NONE:
      case PLUG_VALUE_GENERATOR: return {};
      case PLUG_VALUE_REF: return frame_.at(argument.as<int64_t>());
      case PLUG_VALUE_SYMBOL: return number_of(frame_.number(argument.as<int64_t>()), type);
      case PLUG_VALUE_INT: return number_of(argument.as<int64_t>(), type);
      case PLUG_VALUE_FLOAT: return number_of(argument.as<double>(), type);
      default: break;
    }
    c10::IValue plain = plain_of(argument);
    const bool is_number = plain.isBool() || plain.isComplexDouble();
    return is_number && type->kind() == c10::TypeKind::TensorType ? wrapped(plain.toScalar()) : plain;
  }

 private:
  static c10::Scalar scalar_of(const Number& number) {
    if (const auto* integer = std::get_if<int64_t>(&number)) return *integer;
    return std::get<double>(number);
  }

  static c10::IValue number_of(const Number& number, const c10::TypePtr& type) {
    switch (type->kind()) {
      case c10::TypeKind::FloatType:
      case c10::TypeKind::SymFloatType: return to_double(number);
      case c10::TypeKind::BoolType:
      case c10::TypeKind::SymBoolType: return to_double(number) != 0;
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType: return to_integer(number);
      case c10::TypeKind::NumberType: return scalar_of(number);
      case c10::TypeKind::TensorType: return wrapped(scalar_of(number));
      default: refuse_operand(type);
    }
  }

  c10::IValue plain_of(const Argument& argument) const {
    switch (argument.tag()) {
      case PLUG_VALUE_BOOL: return argument.as<int64_t>() != 0;
      case PLUG_VALUE_COMPLEX: {
        const auto& parts = argument.as<std::vector<double>>();
        return c10::complex<double>(parts[0], parts[1]);
      }
      case PLUG_VALUE_STR: return argument.as<std::string>();
      case PLUG_VALUE_DTYPE: {
        const auto type = to_scalar_type(argument.as<uint64_t>());
        if (!type)
          refuse("The package names a dtype ", argument.as<uint64_t>(), " that this PyTorch does not have.");
        return *type;
      }
      case PLUG_VALUE_LAYOUT:
      case PLUG_VALUE_FORMAT: return argument.as<int64_t>();  // as plug.h numbers them, so does PyTorch
      case PLUG_VALUE_DEVICE: return argument.as<int64_t>() < 0 ? c10::Device(c10::kCPU) : device_;
      default:
        refuse("The package has an argument of the kind ", argument.tag(),
               " outside of a list. Make it anew.");
    }
  }

  c10::IValue list_of(const Argument& argument, const c10::TypePtr& element) const {
    switch (argument.tag()) {
      case PLUG_VALUE_INTS: return c10::List<int64_t>(argument.as<std::vector<int64_t>>());
      case PLUG_VALUE_FLOATS: return c10::List<double>(argument.as<std::vector<double>>());
      case PLUG_VALUE_BOOLS: {
        c10::List<bool> list;
        for (const uint8_t item : argument.as<std::vector<uint8_t>>()) list.push_back(item != 0);
        return list;
      }
      case PLUG_VALUE_REFS: return tensors_of(argument.as<std::vector<int64_t>>(), element);
      case PLUG_VALUE_REF: return frame_.at(argument.as<int64_t>());
      case PLUG_VALUE_LIST: return items_of(argument.as<std::vector<Argument>>(), element);
      default: refuse_operand(element);
    }
  }

  c10::IValue tensors_of(const std::vector<int64_t>& places, const c10::TypePtr& element) const {
    const auto at = [this](int64_t place) { return place < 0 ? at::Tensor() : frame_.at(place).toTensor(); };
    if (element->kind() == c10::TypeKind::OptionalType) {
      c10::List<std::optional<at::Tensor>> list;
      for (const int64_t place : places) list.push_back(place < 0 ? std::nullopt : std::optional(at(place)));
      return list;
    }
    c10::List<at::Tensor> list;
    for (const int64_t place : places) list.push_back(at(place));
    return list;
  }

  c10::IValue items_of(const std::vector<Argument>& items, const c10::TypePtr& element) const {
    switch (element->kind()) {
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType: {
        c10::List<int64_t> list;
        for (const Argument& item : items) list.push_back(of(item, element).toInt());
        return list;
      }
      case c10::TypeKind::FloatType:
      case c10::TypeKind::SymFloatType: {
        c10::List<double> list;
        for (const Argument& item : items) list.push_back(of(item, element).toDouble());
        return list;
      }
      case c10::TypeKind::BoolType: {
        c10::List<bool> list;
        for (const Argument& item : items) list.push_back(of(item, element).toBool());
        return list;
      }
      default: {
        c10::impl::GenericList list(element);
        for (const Argument& item : items) list.push_back(of(item, element));
        return list;
      }
    }
  }

  const Frame& frame_;
  c10::Device device_;
};

}  // namespace

bool is_fixed(const Argument& argument) {
  bool is_open = false;
  const auto opens = [&is_open](int32_t /*place*/) { is_open = true; };
  argument.for_each_ref(opens);
  argument.for_each_symbol(opens);
  return !is_open;
}

c10::IValue operand_of(const Argument& argument, const c10::TypePtr& type, const Frame& frame,
                       c10::Device device) {
  return Operand(frame, device).of(argument, type);
}

}  // namespace torchplug::package
