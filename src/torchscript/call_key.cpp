#include "torchscript/call_key.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <map>

#include "aten/kernel/call_flags.h"
#include "torchscript/tape.h"

namespace torchplug::torchscript {
namespace {

using graph::EngineKey;

constexpr c10::DispatchKeySet kWatching{c10::DispatchKey::Python,
                                        c10::DispatchKey::PythonTLSSnapshot,
                                        c10::DispatchKey::PythonDispatcher,
                                        c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                                        c10::DispatchKey::FuncTorchBatched,
                                        c10::DispatchKey::FuncTorchBatchedDecomposition,
                                        c10::DispatchKey::FuncTorchVmapMode,
                                        c10::DispatchKey::FuncTorchGradWrapper,
                                        c10::DispatchKey::Functionalize,
                                        c10::DispatchKey::Tracer,
                                        c10::DispatchKey::Conjugate,
                                        c10::DispatchKey::Negative,
                                        c10::DispatchKey::Batched,
                                        c10::DispatchKey::VmapMode};

bool is_watched() { return c10::impl::tls_local_dispatch_key_set().included_.has_any(kWatching); }

bool is_plain(const at::Tensor& tensor) {
  return tensor.layout() == c10::kStrided && tensor.has_storage() && !tensor.is_quantized() &&
         !tensor.key_set().has_any(kWatching);
}

class KeyMaker {
 public:
  std::optional<EngineKey> make(c10::ArrayRef<c10::IValue> inputs) {
    needs_gradients_ = at::GradMode::is_enabled();
    add_state();
    for (const c10::IValue& input : inputs)
      if (!add(input)) return std::nullopt;
    return std::move(key_);
  }

 private:
  enum Kind : int64_t { kNone, kTensor, kUndefined, kInt, kDouble, kBool, kComplex, kText, kDevice, kList };

  void add_state() {
    key_.add(static_cast<int64_t>(aten::call_flags(/*multiplies=*/true)));
    key_.add(static_cast<int64_t>(c10::get_default_dtype_as_scalartype()));
    key_.add(
        int64_t{is_autocast_on() ? static_cast<int64_t>(at::autocast::get_autocast_dtype(kDeviceType)) : -1});
  }

  bool add(const c10::IValue& value) {
    if (value.isTensor()) return add_tensor(value.toTensor());
    if (value.isNone()) return add_number(kNone, 0);
    if (value.isInt()) return add_number(kInt, value.toInt());
    if (value.isBool()) return add_number(kBool, value.toBool() ? 1 : 0);
    if (value.isDouble()) {
      key_.add(kDouble).add(value.toDouble());
      return true;
    }
    if (value.isComplexDouble()) {
      key_.add(kComplex).add(value.toComplexDouble().real()).add(value.toComplexDouble().imag());
      return true;
    }
    if (value.isString()) {
      key_.add(kText).add(std::string_view(value.toStringRef()));
      return true;
    }
    if (value.isDevice()) {
      key_.add(kDevice).add(static_cast<int64_t>(value.toDevice().type()));
      key_.add(static_cast<int64_t>(value.toDevice().index()));
      return true;
    }
    return value.isList() && add_list(value);
  }

  bool add_number(Kind kind, int64_t number) {
    key_.add(kind).add(number);
    return true;
  }

  bool add_list(const c10::IValue& value) {
    const auto items = value.toListRef();
    key_.add(kList).add(static_cast<int64_t>(items.size()));
    for (const c10::IValue& item : items)
      if (!add(item)) return false;
    return true;
  }

  bool add_tensor(const at::Tensor& tensor) {
    if (!tensor.defined()) return add_number(kUndefined, 0);
    if (!is_plain(tensor) || (needs_gradients_ && tensor.requires_grad())) return false;
    if (tensor._fw_grad(/*level=*/0).defined()) return false;
    // Where an input is given twice, the recorded program has it once.
    const auto first = places_.try_emplace(tensor.unsafeGetTensorImpl(), places_.size()).first->second;
    key_.add(kTensor).add(static_cast<int64_t>(first)).add(static_cast<int64_t>(tensor.scalar_type()));
    key_.add(static_cast<int64_t>(tensor.device().type())).add(static_cast<int64_t>(tensor.device().index()));
    key_.add(int64_t{tensor.unsafeGetTensorImpl()->is_wrapped_number()});
    key_.add(std::span<const int64_t>(tensor.sizes().data(), tensor.sizes().size()));
    key_.add(std::span<const int64_t>(tensor.strides().data(), tensor.strides().size()));
    return true;
  }

  EngineKey key_;
  bool needs_gradients_ = false;
  std::map<const c10::TensorImpl*, size_t> places_;
};

}  // namespace

bool is_autocast_on() { return at::autocast::is_autocast_enabled(kDeviceType); }

std::optional<EngineKey> key_of(c10::ArrayRef<c10::IValue> inputs) {
  if (is_watched()) return std::nullopt;
  return KeyMaker().make(inputs);
}

std::optional<DeviceIndex> device_of(c10::ArrayRef<c10::IValue> inputs) {
  std::map<DeviceIndex, int> counts;
  for (const at::Tensor& tensor : tensors_in(inputs))
    if (tensor.defined() && tensor.device().type() == kDeviceType) counts[tensor.device().index()] += 1;
  std::optional<DeviceIndex> most;
  for (const auto& [device, count] : counts)
    if (!most || count > counts[*most]) most = device;
  return most;
}

}  // namespace torchplug::torchscript
