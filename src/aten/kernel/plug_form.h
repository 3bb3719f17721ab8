#pragma once
// The values of PyTorch's types in plug.h's form. What a value points at lies in a room that the caller
// gives, or is borrowed from the value itself.

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <array>
#include <optional>

#include "aten/tensor/describe.h"
#include "base/dtype.h"
#include "torchplug/plug.h"

namespace torchplug::aten {

using ComplexRoom = std::array<double, 2>;

union ValueRoom {
  plug_tensor tensor;
  ComplexRoom complex;
};

inline plug_value tagged(int32_t tag) {
  plug_value value{};
  value.tag = tag;
  value.count = 1;
  return value;
}

inline plug_value tagged_integer(int32_t tag, int64_t number) {
  plug_value value = tagged(tag);
  value.as.i = number;
  return value;
}

inline plug_value plug_form(const at::Tensor& tensor, plug_tensor& room) {
  if (!tensor.defined()) return plug_value{};
  describe(*tensor.unsafeGetTensorImpl(), room);
  plug_value value = tagged(PLUG_VALUE_TENSOR);
  value.as.tensors = &room;
  return value;
}

inline plug_value plug_form(const c10::Scalar& number, ComplexRoom& room) {
  plug_value value = tagged(PLUG_VALUE_INT);
  if (number.isFloatingPoint()) {
    value.tag = PLUG_VALUE_FLOAT;
    value.as.f = number.toDouble();
  } else if (number.isBoolean()) {
    value.tag = PLUG_VALUE_BOOL;
    value.as.i = number.toBool() ? 1 : 0;
  } else if (C10_UNLIKELY(number.isComplex())) {
    value.tag = PLUG_VALUE_COMPLEX;
    room = {number.toComplexDouble().real(), number.toComplexDouble().imag()};
    value.as.floats = room.data();
  } else if (C10_UNLIKELY(number.type() == c10::ScalarType::UInt64)) {
    value.tag = PLUG_VALUE_UINT;
    value.as.u = number.toUInt64();
  } else {
    value.as.i = number.toLong();
  }
  return value;
}

inline plug_value plug_form(c10::ScalarType type) {
  plug_value value = tagged(PLUG_VALUE_DTYPE);
  value.as.u = to_plug_dtype(type).value_or(0);
  return value;
}

// For values that come unboxed, with room for any.

inline plug_value plug_form(const at::Tensor& tensor, ValueRoom& room) {
  return plug_form(tensor, room.tensor);
}

inline plug_value plug_form(const c10::Scalar& number, ValueRoom& room) {
  return plug_form(number, room.complex);
}

inline plug_value plug_form(int64_t number, ValueRoom& /*room*/) {
  return tagged_integer(PLUG_VALUE_INT, number);
}

inline plug_value plug_form(bool value, ValueRoom& /*room*/) {
  return tagged_integer(PLUG_VALUE_BOOL, value ? 1 : 0);
}

inline plug_value plug_form(c10::ScalarType type, ValueRoom& /*room*/) { return plug_form(type); }

inline plug_value plug_form(c10::IntArrayRef numbers, ValueRoom& /*room*/) {
  plug_value value{};
  value.tag = PLUG_VALUE_INTS;
  value.count = static_cast<uint32_t>(numbers.size());
  value.as.ints = numbers.data();
  return value;
}

inline plug_value plug_form(at::OptionalIntArrayRef numbers, ValueRoom& room) {
  return numbers.has_value() ? plug_form(*numbers, room) : plug_value{};
}

template <class T>
plug_value plug_form(const std::optional<T>& value, ValueRoom& room) {
  return value.has_value() ? plug_form(*value, room) : plug_value{};
}

}  // namespace torchplug::aten
