#include "compile/packed_weights.h"

#include <algorithm>

namespace torchplug::compile {

bool PackedWeights::any() const { return std::ranges::find(is_packed_, true) != is_packed_.end(); }

// Of a tensor without versions nobody could say whether it was written.
bool PackedWeights::is_same(const Known& known, const at::Tensor& weight) {
  if (!known.is_known || weight.is_inference()) return false;
  const auto storage = known.storage.lock();
  return storage.get() == weight.storage().unsafeGetStorageImpl() && storage != nullptr &&
         known.offset == weight.storage_offset() && known.version == weight._version();
}

std::vector<bool> PackedWeights::take_changed(c10::ArrayRef<at::Tensor> inputs) {
  std::vector<bool> changed(inputs.size(), false);
  for (size_t i = 0; i < inputs.size() && i < is_packed_.size(); ++i) {
    const at::Tensor& weight = inputs[i];
    if (!is_packed_[i] || is_same(known_[i], weight)) continue;
    changed[i] = true;
    known_[i].storage = c10::weak_intrusive_ptr<c10::StorageImpl>(weight.storage().getWeakStorageImpl());
    known_[i].offset = weight.storage_offset();
    known_[i].version = weight.is_inference() ? 0 : static_cast<uint32_t>(weight._version());
    known_[i].is_known = !weight.is_inference();
  }
  return changed;
}

void PackedWeights::forget() {
  for (Known& known : known_) known.is_known = false;
}

}  // namespace torchplug::compile
