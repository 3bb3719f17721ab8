#pragma once
// Everything about a call that can decide what its outputs look like, as one run of words.
// Two calls of an operator with equal keys have outputs of equal dtype, sizes and strides.

#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <utility>
#include <vector>

#include "aten/arguments.h"

namespace torchplug {

class PlanKey {
 public:
  // `is_number`: which arguments are Scalars, of which only the kind counts unless `with_scalars`.
  PlanKey(Arguments arguments, bool with_scalars, const std::vector<bool>& is_number = {});

  uint64_t hash() const { return hash_; }
  // Of the key without sizes and strides: which kinds of arguments, whatever their shape.
  uint64_t kind_hash() const { return kind_hash_; }
  bool operator==(const PlanKey& other) const { return hash_ == other.hash_ && words_ == other.words_; }

 private:
  void add(const c10::IValue& value);
  void add_tensor(const at::Tensor& tensor);
  void add_sharing(const at::Tensor& tensor);
  void add_scalar(const c10::IValue& value);
  void add_word(uint64_t word) { words_.push_back(word); }
  void add_kind(uint64_t word);
  void add_text(std::string_view text);

  bool with_scalars_;
  // The storages met so far, with the offset of the first tensor on each.
  c10::SmallVector<std::pair<const c10::StorageImpl*, int64_t>, 8> storages_;
  c10::SmallVector<uint64_t, 96> words_;
  uint64_t hash_ = 0;
  uint64_t kind_hash_ = 0;
};

}  // namespace torchplug
