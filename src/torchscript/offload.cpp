#include "torchscript/offload.h"

#include <ATen/core/List.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "aten/plan/ledger.h"
#include "base/immortal.h"
#include "torchscript/tape.h"

namespace torchplug::torchscript {
namespace {

// With the same strides, so that what PyTorch decides by them is decided alike: which results are views.
at::Tensor copy_of(const at::Tensor& tensor, c10::Device device) {
  if (tensor.is_non_overlapping_and_dense()) return tensor.to(device);
  at::Tensor once = tensor;  // each element
  for (int64_t i = 0; i < tensor.dim(); ++i)
    if (tensor.stride(i) == 0 && tensor.size(i) > 1) once = once.narrow(i, 0, 1);
  at::Tensor copy = at::empty_strided(once.sizes(), once.strides(), once.options().device(device));
  copy.copy_(once);
  return copy.as_strided(tensor.sizes(), tensor.strides());
}

class KeptWeights {
 public:
  at::Tensor find_or_send(const at::Tensor& weight, c10::Device device, uint64_t& bytes) {
    const std::lock_guard hold(lock_);
    std::vector<Kept>& of_storage = kept_[weight.storage().unsafeGetStorageImpl()];
    std::erase_if(of_storage, [](const Kept& one) { return one.storage.expired(); });
    for (Kept& one : of_storage) {
      if (!is_of(one, weight, device)) continue;
      if (one.version != version_of(weight)) {
        one.on_device = copy_of(weight, device);
        bytes += weight.nbytes();
        one.version = version_of(weight);
      }
      return one.on_device;
    }
    bytes += weight.nbytes();
    of_storage.push_back({weak_storage(weight), weight.storage_offset(), version_of(weight),
                          weight.sizes().vec(), weight.strides().vec(), copy_of(weight, device)});
    const at::Tensor made = of_storage.back().on_device;
    drop_dead();
    return made;
  }

  void forget() {
    const std::lock_guard hold(lock_);
    kept_.clear();
  }

 private:
  using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;
  struct Kept {
    WeakStorage storage;
    int64_t offset;
    uint32_t version;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    at::Tensor on_device;
  };

  static WeakStorage weak_storage(const at::Tensor& weight) {
    return WeakStorage(weight.storage().getWeakStorageImpl());
  }
  static uint32_t version_of(const at::Tensor& weight) {
    return weight.unsafeGetTensorImpl()->version_counter().current_version();
  }
  static bool is_of(const Kept& one, const at::Tensor& weight, c10::Device device) {
    return one.offset == weight.storage_offset() && weight.sizes() == one.sizes &&
           weight.strides() == one.strides && one.on_device.scalar_type() == weight.scalar_type() &&
           one.on_device.device() == device;
  }

  // Whenever there is one more.
  void drop_dead() {
    for (auto entry = kept_.begin(); entry != kept_.end();) {
      std::erase_if(entry->second, [](const Kept& one) { return one.storage.expired(); });
      entry = entry->second.empty() ? kept_.erase(entry) : std::next(entry);
    }
  }

  std::mutex lock_;  // guards
  std::unordered_map<const c10::StorageImpl*, std::vector<Kept>> kept_;
};

KeptWeights& kept_weights() {
  static auto& instance = *immortal<KeptWeights>();
  return instance;
}

at::Tensor send(const at::Tensor& tensor, bool is_weight, c10::Device device, uint64_t& bytes) {
  if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return tensor;
  // One of inference mode has no version.
  if (is_weight && !tensor.is_inference()) return kept_weights().find_or_send(tensor, device, bytes);
  bytes += tensor.nbytes();
  return copy_of(tensor, device);
}

aten::LedgerAccount& offload_account() {
  static auto& account = *immortal<aten::LedgerAccount>("offload");
  return account;
}

}  // namespace

bool are_on_host(c10::ArrayRef<c10::IValue> inputs) {
  const std::vector<at::Tensor> tensors = tensors_in(inputs);
  const auto is_on_host = [](const at::Tensor& one) { return !one.defined() || one.is_cpu(); };
  return !tensors.empty() && std::ranges::all_of(tensors, is_on_host);
}

SentInputs sent(c10::ArrayRef<c10::IValue> inputs, const std::vector<bool>& weights, DeviceIndex device) {
  const c10::Device there(kDeviceType, device);
  SentInputs moved;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> known;  // one that is given twice is sent once
  const auto sent_once = [&](const at::Tensor& tensor, bool is_weight) {
    const auto [found, is_new] = known.try_emplace(tensor.unsafeGetTensorImpl());
    if (is_new) found->second = send(tensor, is_weight, there, moved.bytes);
    return found->second;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const c10::IValue& value = inputs[i];
    if (value.isTensor()) {
      moved.values.emplace_back(sent_once(value.toTensor(), weights[i]));
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& one : value.toTensorList()) list.push_back(sent_once(one, weights[i]));
      moved.values.emplace_back(std::move(list));
    } else {
      moved.values.push_back(value.isDevice() ? c10::IValue(there) : value);
    }
  }
  return moved;
}

void count_moved(uint64_t bytes) {
  offload_account().count(aten::Way::kEngine, aten::Reason::kNone, bytes, 0);
}

void forget_weights() { kept_weights().forget(); }

}  // namespace torchplug::torchscript
