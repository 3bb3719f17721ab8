#pragma once
// Walking over the tensors among an operator's boxed arguments, wherever they sit: plain, optional,
// in lists, in lists of optionals.

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <optional>

#include "runtime/device.h"

namespace torchplug::aten {

using Arguments = c10::ArrayRef<c10::IValue>;

inline bool is_on_device(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kDeviceType;
}

inline const c10::TypePtr& without_optional(const c10::TypePtr& type) {
  const auto* optional = type->castRaw<c10::OptionalType>();
  return optional != nullptr ? optional->getElementType() : type;
}

// Whether the value is a list of tensors that may be absent. One that TorchScript made has an element type
// of its own, such as an optional tensor of known shape, and is none to IValue::isOptionalTensorList.
inline bool is_optional_tensor_list(const c10::IValue& value) {
  if (!value.isList() || value.isIntList()) return false;
  if (value.isOptionalTensorList()) return true;
  const c10::TypePtr type = value.toList().elementType();
  const auto* optional = type->castRaw<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->kind() == c10::TypeKind::TensorType;
}

inline bool is_list_of_tensors(const c10::IValue& value) {
  return value.isTensorList() || is_optional_tensor_list(value);
}

// Calls visit(tensor) for every tensor of the value that is there, in order.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (is_list_of_tensors(value)) {
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor() && item.toTensor().defined()) visit(item.toTensor());
    }
  }
}

// Whether a boolean or byte tensor is among the arguments: a mask, where indices are expected.
inline bool has_mask(Arguments arguments) {
  bool found = false;
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      found = found || tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte;
    });
  }
  return found;
}

// The device that a call is about: the one it names, else that of the first tensor on one.
inline std::optional<c10::Device> device_of_call(Arguments arguments) {
  std::optional<c10::Device> found;
  for (const c10::IValue& value : arguments) {
    if (value.isDevice() && value.toDevice().type() == kDeviceType) return value.toDevice();
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (!found && is_on_device(tensor)) found = tensor.device();
    });
  }
  return found;
}

// Replaces every tensor of the value that is there by replace(tensor), in the same order.
template <class Replace>
void replace_tensors(c10::IValue& value, Replace replace) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) value = replace(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> replaced;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      replaced.push_back(tensor.defined() ? replace(tensor) : tensor);
    }
    value = std::move(replaced);
  } else if (is_optional_tensor_list(value)) {
    c10::List<std::optional<at::Tensor>> replaced;
    for (const c10::IValue& item : value.toListRef()) {
      std::optional<at::Tensor> tensor;
      if (item.isTensor()) tensor = item.toTensor().defined() ? replace(item.toTensor()) : item.toTensor();
      replaced.push_back(std::move(tensor));
    }
    value = std::move(replaced);
  }
}

}  // namespace torchplug::aten
