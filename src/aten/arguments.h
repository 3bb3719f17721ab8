#pragma once
// Walking over the tensors among an operator's boxed arguments, wherever they sit: plain, optional,
// in lists, in lists of optionals.

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <optional>

#include "runtime/device.h"

namespace torchplug {

using Arguments = c10::ArrayRef<c10::IValue>;

inline bool is_on_device(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kDeviceType;
}

// Calls visit(tensor) for every tensor of the value that is there, in order.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined()) visit(tensor);
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) visit(tensor);
    }
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      if (tensor && tensor->defined()) visit(*tensor);
    }
  }
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
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> replaced;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      replaced.push_back(tensor && tensor->defined() ? std::optional<at::Tensor>(replace(*tensor)) : tensor);
    }
    value = std::move(replaced);
  }
}

}  // namespace torchplug
