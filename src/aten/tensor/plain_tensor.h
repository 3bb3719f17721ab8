#pragma once
// The fields of a tensor of a usual class, for what looks at every tensor of every call. c10::TensorImpl's
// own functions ask each time whether the class keeps the field elsewhere, and call it if so: a function that
// uses several spends a third of its instructions on being ready for that. Asked once, here, the rest is
// loads.

#include <c10/core/TensorImpl.h>

#include "base/namespaces.h"

namespace torchplug::aten {

class PlainTensor : private c10::TensorImpl {
 public:
  PlainTensor() = delete;

  // Whether sizes, strides and the offset are where c10::TensorImpl has them.
  static bool is(const c10::TensorImpl& tensor) {
    return !(tensor.*&PlainTensor::matches_policy)(SizesStridesPolicy::CustomStrides);
  }

  // Of a tensor that is().
  static const c10::impl::SizesAndStrides& shape(const c10::TensorImpl& tensor) {
    return tensor.*&PlainTensor::sizes_and_strides_;
  }
  static int64_t storage_offset(const c10::TensorImpl& tensor) {
    return tensor.*&PlainTensor::storage_offset_;
  }
};

}  // namespace torchplug::aten
