#pragma once
// Which weights an engine has packed, told apart by storage and version: a weight that was written, replaced
// or moved is another. Not for two threads at once; the engine locks.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::compile {

class PackedWeights {
 public:
  // By input: whether the engine packs it.
  explicit PackedWeights(std::vector<bool> is_packed)
      : is_packed_(std::move(is_packed)), known_(is_packed_.size()) {}

  bool any() const;
  // By input: whether the engine packs it and has not packed this one. Notes them as packed.
  std::vector<bool> take_changed(c10::ArrayRef<at::Tensor> inputs);
  // Packing failed: what is packed is not known.
  void forget();

 private:
  struct Known {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage{c10::intrusive_ptr<c10::StorageImpl>()};
    int64_t offset = 0;
    uint32_t version = 0;
    bool is_known = false;
  };

  static bool is_same(const Known& known, const at::Tensor& weight);

  std::vector<bool> is_packed_;
  std::vector<Known> known_;
};

}  // namespace torchplug::compile
