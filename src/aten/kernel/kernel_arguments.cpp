#include "aten/kernel/kernel_arguments.h"

#include "aten/tensor/arguments.h"

namespace torchplug::aten {
namespace {

struct Needs {
  size_t tensors = 0;
  size_t complexes = 0;
  size_t ints = 0;
  size_t floats = 0;
};

void count_needs(const c10::IValue& value, Needs& needs) {
  if (value.isTensor()) needs.tensors += 1;
  if (is_list_of_tensors(value)) needs.tensors += value.toListRef().size();
  if (value.isList()) needs.complexes += value.toListRef().size();
  if (value.isIntList()) needs.ints += value.toListRef().size();
  if (value.isDoubleList()) needs.floats += value.toListRef().size();
  if (value.isComplexDouble()) needs.complexes += 1;
}

}  // namespace

void KernelArguments::reserve(c10::ArrayRef<c10::IValue> arguments, size_t result_count) {
  Needs needs;
  for (const c10::IValue& value : arguments) count_needs(value, needs);
  tensors_.reserve(needs.tensors + result_count);
  numbers_.reserve(needs.tensors);
  ints_.reserve(needs.ints);
  floats_.reserve(needs.floats);
  complexes_.reserve(needs.complexes);
  results_.reserve(result_count);
}

const plug_tensor* KernelArguments::add_tensor(const at::Tensor& tensor, bool written) {
  plug_tensor& described = tensors_.emplace_back();
  if (tensor.defined()) {
    described = describe(tensor);
  } else {
    described.ndim = -1;
  }
  if (C10_UNLIKELY(number_dtype_ != 0) && described.ndim == 0 && described.mem.device == PLUG_HOST)
    convert_number(described, number_dtype_, numbers_.emplace_back());
  if (written) described.flags |= PLUG_TENSOR_WRITTEN;
  return &described;
}

// A boxed dtype, layout or memory format is a number; the schema tells which.
void KernelArguments::add_argument(const c10::IValue& value, c10::TypeKind type, bool written) {
  plug_value converted = convert(value, written);
  if (value.isInt() && type == c10::TypeKind::ScalarTypeType) {
    converted = plug_form(value.toScalarType());
  } else if (value.isInt() && type == c10::TypeKind::LayoutType) {
    converted.tag = PLUG_VALUE_LAYOUT;
  } else if (value.isInt() && type == c10::TypeKind::MemoryFormatType) {
    converted.tag = PLUG_VALUE_FORMAT;
  }
  arguments_.push_back(converted);
}

plug_value KernelArguments::convert(const c10::IValue& value, bool written) {
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return plug_value{};
    plug_value tensor = tagged(PLUG_VALUE_TENSOR);
    tensor.as.tensors = add_tensor(value.toTensor(), written);
    return tensor;
  }
  if (value.isNone()) return plug_value{};
  if (value.isScalar() || value.isUnsigned()) {
    ComplexRoom unused;
    return plug_form(value.toScalar(), value.isComplexDouble() ? complexes_.emplace_back() : unused);
  }
  if (value.isString()) {
    plug_value text = tagged(PLUG_VALUE_STR);
    text.as.str = value.toStringRef().c_str();
    text.count = static_cast<uint32_t>(value.toStringRef().size());
    return text;
  }
  if (value.isDevice()) {
    const c10::Device device = value.toDevice();
    if (device.type() != kDeviceType) return tagged_integer(PLUG_VALUE_DEVICE, PLUG_HOST);
    return tagged_integer(PLUG_VALUE_DEVICE, plugin_index(device.has_index() ? device.index() : device_));
  }
  if (value.isGenerator()) {
    generator_ = value.toGenerator();
    return tagged(PLUG_VALUE_GENERATOR);
  }
  TORCH_CHECK(value.isList(), "plug.h cannot represent a kernel argument of type ", value.tagKind(), ".");
  return convert_list(value, written);
}

plug_value KernelArguments::convert_list(const c10::IValue& value, bool written) {
  plug_value list{};
  if (value.isIntList()) {
    list.tag = PLUG_VALUE_INTS;
    list.as.ints = ints_.end();
    for (const c10::IValue& item : value.toListRef()) ints_.push_back(item.toInt());
  } else if (value.isDoubleList()) {
    list.tag = PLUG_VALUE_FLOATS;
    list.as.floats = floats_.end();
    for (const c10::IValue& item : value.toListRef()) floats_.push_back(item.toDouble());
  } else if (value.isBoolList()) {
    list.tag = PLUG_VALUE_BOOLS;
    bools_.emplace_back();
    for (const c10::IValue& item : value.toListRef()) bools_.back().push_back(item.toBool() ? 1 : 0);
    list.as.bools = bools_.back().data();
  } else if (is_list_of_tensors(value)) {
    list.tag = PLUG_VALUE_TENSORS;
    list.as.tensors = tensors_.end();
    for (const c10::IValue& item : value.toListRef()) {
      add_tensor(item.isTensor() ? item.toTensor() : at::Tensor(), written);
    }
  } else {
    list.tag = PLUG_VALUE_LIST;
    std::vector<plug_value> items;
    for (const c10::IValue& item : value.toListRef()) items.push_back(convert(item, written));
    lists_.push_back(std::move(items));
    list.as.values = lists_.back().data();
  }
  list.count = static_cast<uint32_t>(value.toListRef().size());
  return list;
}

void KernelArguments::add_result(const at::Tensor& tensor) {
  plug_value value{};
  if (tensor.defined()) {
    value = tagged(PLUG_VALUE_TENSOR);
    value.as.tensors = add_tensor(tensor, /*written=*/true);
  }
  results_.push_back(value);
}

void KernelArguments::add_result_list(c10::ArrayRef<at::Tensor> tensors) {
  plug_value value = tagged(PLUG_VALUE_TENSORS);
  value.count = static_cast<uint32_t>(tensors.size());
  value.as.tensors = tensors_.end();
  for (const at::Tensor& tensor : tensors) add_tensor(tensor, /*written=*/true);
  results_.push_back(value);
}

}  // namespace torchplug::aten
