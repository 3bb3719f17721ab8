#include "aten/kernel_call.h"

#include <ATen/Context.h>

#include <atomic>

#include "aten/arguments.h"
#include "aten/strides.h"
#include "aten/transfer.h"
#include "dtype.h"
#include "plugin/serialize.h"
#include "runtime/generator.h"

namespace torchplug {
namespace {

std::atomic<uint64_t> call_sequence{0};

uint64_t call_flags() {
  const at::Context& context = at::globalContext();
  uint64_t flags = 0;
  if (context.deterministicAlgorithms()) flags |= PLUG_CALL_DETERMINISTIC;
  if (context.float32MatmulPrecision() != at::Float32MatmulPrecision::HIGHEST) flags |= PLUG_CALL_FAST_F32;
  return flags;
}

plug_value tagged(int32_t tag) {
  plug_value value{};
  value.tag = tag;
  value.count = 1;
  return value;
}

plug_value integer(int32_t tag, int64_t number) {
  plug_value value = tagged(tag);
  value.as.i = number;
  return value;
}

struct Needs {
  size_t tensors = 0;
  size_t ints = 0;
  size_t floats = 0;
};

void count_needs(const c10::IValue& value, Needs& needs) {
  if (value.isTensor()) needs.tensors += 1;
  if (value.isTensorList() || value.isOptionalTensorList()) needs.tensors += value.toListRef().size();
  if (value.isList()) needs.floats += 2 * value.toListRef().size();
  if (value.isIntList()) needs.ints += value.toListRef().size();
  if (value.isDoubleList()) needs.floats += value.toListRef().size();
  if (value.isComplexDouble()) needs.floats += 2;
}

}  // namespace

KernelCall::KernelCall(const Module& module, const plug_kernel& kernel, const Stream& stream)
    : module_(module), kernel_(kernel), stream_(stream) {}

void KernelCall::reserve(c10::ArrayRef<c10::IValue> arguments, size_t result_count) {
  Needs needs;
  for (const c10::IValue& value : arguments) count_needs(value, needs);
  tensors_.reserve(needs.tensors + result_count);
  ints_.reserve(needs.ints);
  floats_.reserve(needs.floats);
  results_.reserve(result_count);
}

const plug_tensor* KernelCall::add_tensor(const at::Tensor& tensor, bool written) {
  plug_tensor described{};
  described.ndim = -1;
  if (tensor.defined()) described = describe(tensor);
  if (written) described.flags |= PLUG_TENSOR_WRITTEN;
  tensors_.push_back(described);
  return &tensors_.back();
}

// A boxed dtype, layout or memory format is a number; the schema tells which.
void KernelCall::add_argument(const c10::IValue& value, c10::TypeKind type, bool written) {
  plug_value converted = convert(value, written);
  if (value.isInt() && type == c10::TypeKind::ScalarTypeType) {
    converted.tag = PLUG_VALUE_DTYPE;
    converted.as.u = to_plug_dtype(value.toScalarType()).value_or(0);
  } else if (value.isInt() && type == c10::TypeKind::LayoutType) {
    converted.tag = PLUG_VALUE_LAYOUT;
  } else if (value.isInt() && type == c10::TypeKind::MemoryFormatType) {
    converted.tag = PLUG_VALUE_FORMAT;
  }
  arguments_.push_back(converted);
}

plug_value KernelCall::convert(const c10::IValue& value, bool written) {
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return plug_value{};
    plug_value tensor = tagged(PLUG_VALUE_TENSOR);
    tensor.as.tensors = add_tensor(value.toTensor(), written);
    return tensor;
  }
  if (value.isNone()) return plug_value{};
  if (value.isBool()) return integer(PLUG_VALUE_BOOL, value.toBool() ? 1 : 0);
  if (value.isInt()) return integer(PLUG_VALUE_INT, value.toInt());
  if (value.isUnsigned()) {
    plug_value number = tagged(PLUG_VALUE_UINT);
    number.as.u = value.toUInt();
    return number;
  }
  if (value.isDouble()) {
    plug_value number = tagged(PLUG_VALUE_FLOAT);
    number.as.f = value.toDouble();
    return number;
  }
  if (value.isComplexDouble()) {
    plug_value number = tagged(PLUG_VALUE_COMPLEX);
    number.as.floats = floats_.end();
    floats_.push_back(value.toComplexDouble().real());
    floats_.push_back(value.toComplexDouble().imag());
    return number;
  }
  if (value.isString()) {
    plug_value text = tagged(PLUG_VALUE_STR);
    text.as.str = value.toStringRef().c_str();
    text.count = static_cast<uint32_t>(value.toStringRef().size());
    return text;
  }
  if (value.isDevice()) {
    const c10::Device device = value.toDevice();
    if (device.type() != kDeviceType) return integer(PLUG_VALUE_DEVICE, PLUG_HOST);
    return integer(PLUG_VALUE_DEVICE, plugin_index(device.has_index() ? device.index() : stream_.device()));
  }
  if (value.isGenerator()) {
    generator_ = value.toGenerator();
    return tagged(PLUG_VALUE_GENERATOR);
  }
  TORCH_CHECK(value.isList(), "A kernel's argument of type ", value.tagKind(), " has no form in plug.h.");
  return convert_list(value, written);
}

plug_value KernelCall::convert_list(const c10::IValue& value, bool written) {
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
  } else if (value.isTensorList() || value.isOptionalTensorList()) {
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

void KernelCall::add_result(const at::Tensor& tensor) {
  plug_value value{};
  if (tensor.defined()) {
    value = tagged(PLUG_VALUE_TENSOR);
    value.as.tensors = add_tensor(tensor, /*written=*/true);
  }
  results_.push_back(value);
  result_tensors_.push_back(tensor);
}

plug_status KernelCall::run() {
  plug_call call{};
  call.size = sizeof call;
  call.device = plugin_index(stream_.device());
  call.stream = stream_.handle();
  call.user = kernel_.user;
  call.args = arguments_.data();
  call.results = results_.data();
  call.arg_count = static_cast<uint32_t>(arguments_.size());
  call.result_count = static_cast<uint32_t>(results_.size());
  call.flags = call_flags();
  call.sequence = call_sequence.fetch_add(1, std::memory_order_relaxed);
  call.host_private = static_cast<CallServices*>(this);
  const auto lock = lock_calls(module_);
  return kernel_.fn(&call);
}

plug_status KernelCall::scratch(uint64_t bytes, plug_mem* mem) {
  if (bytes == 0) {
    *mem = {nullptr, 0, plugin_index(stream_.device()), 0};
    return PLUG_OK;
  }
  try {
    c10::DataPtr data = DeviceAllocator::instance().allocate_on(stream_, bytes);
    *mem = DeviceAllocator::instance().locate(data.get()).memory();
    scratch_.push_back(std::move(data));
    return PLUG_OK;
  } catch (const c10::Error& error) {
    module_.host.set_error(&module_.host, error.what_without_backtrace());
    return PLUG_NO_MEMORY;
  }
}

plug_status KernelCall::output(uint32_t index, plug_dtype dtype, int32_t ndim, const int64_t* sizes) {
  const auto type = to_scalar_type(dtype);
  if (index >= results_.size() || result_tensors_[index].defined() || !type || ndim < 0) {
    module_.host.set_error(
        &module_.host, "host->output was given a result twice, or a result or a dtype that does not exist");
    return PLUG_INVALID;
  }
  try {
    const at::IntArrayRef shape(sizes, static_cast<size_t>(ndim));
    result_tensors_[index] = empty_on(stream_, shape, contiguous_strides(shape), *type);
    results_[index] = tagged(PLUG_VALUE_TENSOR);
    results_[index].as.tensors = add_tensor(result_tensors_[index], /*written=*/true);
    return PLUG_OK;
  } catch (const c10::Error& error) {
    module_.host.set_error(&module_.host, error.what_without_backtrace());
    return PLUG_NO_MEMORY;
  }
}

plug_status KernelCall::rng(uint64_t draws, plug_rng* rng) {
  const at::Generator& generator = generator_.defined() ? generator_ : default_generator(stream_.device());
  try {
    const Draw draw = at::check_generator<PhiloxGenerator>(generator)->draw(draws);
    *rng = {draw.seed, draw.offset, nullptr};
    return PLUG_OK;
  } catch (const c10::Error& error) {
    module_.host.set_error(&module_.host, error.what_without_backtrace());
    return PLUG_INVALID;
  }
}

}  // namespace torchplug
