#include "autocast/vendor_rules.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>

#include "base/operator_library.h"

namespace torchplug::autocast {
namespace {

constexpr c10::DeviceType kDevice = c10::DeviceType::PrivateUse1;

at::ScalarType lower_type() { return at::autocast::get_lower_precision_fp_from_device_type(kDevice); }

bool may_hold_tensors(const c10::IValue& value) {
  return value.isList() && !value.isIntList() && !value.isDoubleList() && !value.isBoolList();
}

template <class Visitor>
void for_each_tensor(c10::IValue& value, const Visitor& visit) {
  if (value.isTensor()) {
    at::Tensor tensor = value.toTensor();
    visit(tensor);
    value = tensor;
  } else if (may_hold_tensors(value)) {
    c10::List<c10::IValue> list = value.toList();
    for (size_t i = 0; i < list.size(); ++i) {
      c10::IValue item = list.get(i);
      for_each_tensor(item, visit);
      if (item.isTensor()) list.set(i, item);
    }
  }
}

// A list is the caller's: the casts go into one of their own.
void own_lists(torch::jit::Stack::iterator first, torch::jit::Stack::iterator last) {
  for (auto value = first; value != last; ++value) {
    if (may_hold_tensors(*value)) *value = value->toList().copy();
  }
}

void call_with(const c10::OperatorHandle& handle, torch::jit::Stack* stack, at::ScalarType type) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(
      at::autocast::get_autocast_dispatch_key_from_device_type(kDevice));
  const auto first = stack->end() - static_cast<std::ptrdiff_t>(handle.schema().arguments().size());
  own_lists(first, stack->end());
  for (auto value = first; value != stack->end(); ++value) {
    for_each_tensor(*value, [type](at::Tensor& tensor) {
      if (tensor.defined()) tensor = at::autocast::cached_cast(type, tensor, kDevice);
    });
  }
  handle.callBoxed(stack);
}

void call_lower(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  call_with(handle, stack, lower_type());
}

void call_float32(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  call_with(handle, stack, at::kFloat);
}

void call_widest(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  at::ScalarType type = lower_type();
  const auto first = stack->end() - static_cast<std::ptrdiff_t>(handle.schema().arguments().size());
  for (auto value = first; value != stack->end(); ++value) {
    for_each_tensor(*value, [&type](const at::Tensor& tensor) {
      if (tensor.defined()) type = at::autocast::prioritize(type, tensor, kDevice);
    });
  }
  call_with(handle, stack, type);
}

torch::CppFunction function_for(int32_t rule) {
  switch (rule) {
    case PLUG_AUTOCAST_LOWER: return torch::CppFunction::makeFromBoxedFunction<&call_lower>();
    case PLUG_AUTOCAST_F32: return torch::CppFunction::makeFromBoxedFunction<&call_float32>();
    case PLUG_AUTOCAST_WIDEST: return torch::CppFunction::makeFromBoxedFunction<&call_widest>();
    default: return torch::CppFunction::makeFallthrough();
  }
}

// "aten::softmax.int" as the dispatcher's name.
c10::OperatorName operator_name(const std::string& text) {
  const size_t space = text.find("::");
  const size_t dot = text.find('.', space == std::string::npos ? 0 : space);
  return {text.substr(0, dot), dot == std::string::npos ? "" : text.substr(dot + 1)};
}

// What is wrong with a rule; empty if nothing is.
std::string why_unusable(const plug_autocast_rule& rule, const std::string& name) {
  if (rule.rule < PLUG_AUTOCAST_NONE || rule.rule > PLUG_AUTOCAST_WIDEST)
    return "the rule " + std::to_string(rule.rule) + ", which is none of PLUG_AUTOCAST_*";
  const bool is_known = c10::Dispatcher::singleton().findSchema(operator_name(name)).has_value();
  return is_known ? "" : "an operator that this PyTorch does not have";
}

}  // namespace

bool has_vendor_rule(const Module& module, const std::string& name) {
  if (!module.autocast) return false;
  return std::ranges::any_of(module.autocast->rules, [&](const plug_autocast_rule& rule) {
    return rule.name != nullptr && name == rule.name;
  });
}

void register_vendor_rules(const Module& module) {
  if (!module.autocast) return;
  for (const plug_autocast_rule& rule : module.autocast->rules) {
    const std::string name = rule.name == nullptr ? "" : rule.name;
    const std::string wrong = why_unusable(rule, name);
    if (!wrong.empty()) {
      TORCH_WARN("The autocast rule of plugin '", module.name, "' for '", name, "' is not used: it has ",
                 wrong, ".");
      continue;
    }
    const std::string space = name.substr(0, name.find("::"));
    operator_library(space.c_str(), kAutocastKey).impl(name.c_str(), function_for(rule.rule));
  }
}

}  // namespace torchplug::autocast
