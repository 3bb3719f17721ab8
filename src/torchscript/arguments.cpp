#include "torchscript/arguments.h"

#include <utility>
#include <vector>

#include "base/dtype.h"

namespace torchplug::torchscript {

using graph::Argument;

namespace {

// A boxed dtype, layout or memory format is a number; the type tells which.
std::optional<Argument> argument_of_integer(int64_t value, const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType: {
      const auto dtype = to_plug_dtype(static_cast<c10::ScalarType>(value));
      return dtype ? std::optional(Argument::dtype(*dtype)) : std::nullopt;
    }
    case c10::TypeKind::LayoutType:
      if (static_cast<c10::Layout>(value) != c10::kStrided) return std::nullopt;
      return Argument::layout(0);
    case c10::TypeKind::MemoryFormatType: return Argument::format(value);
    case c10::TypeKind::FloatType: return Argument::number(static_cast<double>(value));
    default: return Argument::integer(value);
  }
}

std::optional<Argument> argument_of_list(const c10::IValue& value, const c10::TypePtr& element,
                                         DeviceIndex device) {
  if (value.isIntList()) return Argument::ints(value.toIntVector());
  if (value.isDoubleList()) return Argument::floats(value.toDoubleVector());
  if (value.isBoolList()) {
    std::vector<uint8_t> items;
    for (const bool item : value.toBoolList()) items.push_back(item ? 1 : 0);
    return Argument::bools(std::move(items));
  }
  if (value.isTensorList() && value.toTensorList().empty()) return Argument::refs({});
  std::vector<Argument> items;
  for (const c10::IValue& item : value.toListRef()) {
    auto converted = argument_of(item, element, device);
    if (!converted) return std::nullopt;
    items.push_back(*std::move(converted));
  }
  return Argument::list(std::move(items));
}

}  // namespace

std::optional<Argument> argument_of(const c10::IValue& value, const c10::TypePtr& type, DeviceIndex device) {
  if (value.isNone()) return Argument();
  if (const auto optional = type->cast<c10::OptionalType>())
    return argument_of(value, optional->getElementType(), device);
  if (value.isInt()) return argument_of_integer(value.toInt(), type);
  if (value.isScalar()) return argument_of_number(value.toScalar());
  if (value.isString()) return Argument::text(value.toStringRef());
  if (value.isDevice()) {
    const c10::Device given = value.toDevice();
    const bool is_own = given.type() == kDeviceType && (!given.has_index() || given.index() == device);
    return Argument::device(is_own ? device : -1);
  }
  if (!value.isList()) return std::nullopt;
  const auto list = type->cast<c10::ListType>();
  return argument_of_list(value, list != nullptr ? list->getElementType() : type, device);
}

std::optional<Argument> argument_of_number(const c10::Scalar& number) {
  if (number.isBoolean()) return Argument::boolean(number.toBool());
  if (number.isComplex()) {
    const auto value = number.toComplexDouble();
    return Argument::complex(value.real(), value.imag());
  }
  if (number.isFloatingPoint()) return Argument::number(number.toDouble());
  if (!number.isIntegral(/*includeBool=*/false)) return std::nullopt;
  return Argument::integer(number.toLong());
}

}  // namespace torchplug::torchscript
