#pragma once
// What is known of all calls of one kind, which differ in nothing but sizes and strides (PlanKey,
// KeyOf::kKind), once one of them has been carried out: how the output of the next can be told without
// running it.

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>

#include <atomic>

#include "aten/tensor/arguments.h"

namespace torchplug::aten {

struct CallKind {
  // PyTorch's shape function said of a call what its output then looked like. Some kernels give an output
  // strides of their own; and what a kernel refuses for its dtypes, it refuses the first time.
  bool has_shape = false;
  // Pointwise, with operands that all looked alike: the output looked like them and was of this dtype.
  mutable std::atomic<at::ScalarType> dtype_like_operands{at::ScalarType::Undefined};
};

// The operands of a pointwise call. Single numbers do not count: they have no say in how the output looks.
class Operands {
 public:
  void add(const at::Tensor& tensor);
  void add(const at::ITensorListRef& /*tensors*/) { differ_ = true; }
  void add(const c10::IValue& value) {
    if (value.isTensor()) add(value.toTensor());
    if (value.isList()) differ_ = true;
  }
  template <class Other>
  void add(const Other& /*value*/) {}

  // What all of them, and so the output, look like. Null if they differ, or if sizes of one leave the
  // output's strides open.
  const c10::TensorImpl* common() const;

 private:
  const c10::TensorImpl* first_ = nullptr;
  bool has_number_ = false;
  bool differ_ = false;
};

inline void Operands::add(const at::Tensor& tensor) {
  const c10::TensorImpl& operand = *tensor.unsafeGetTensorImpl();
  if (!tensor.defined()) {
    differ_ = true;
  } else if (operand.dim() == 0) {
    has_number_ = true;
  } else if (first_ == nullptr) {
    first_ = &operand;
  } else if (first_ != &operand) {
    differ_ = differ_ || first_->sizes() != operand.sizes() || first_->strides() != operand.strides();
  }
}

// PyTorch gives an output the strides of operands that fill their memory; with one that is contiguous it
// begins anew, and with a number beside it, by a rule in which sizes of one have no certain place.
inline const c10::TensorImpl* Operands::common() const {
  if (first_ == nullptr || differ_ || first_->numel() == 0 || !first_->is_non_overlapping_and_dense())
    return nullptr;
  const c10::IntArrayRef sizes = first_->sizes();
  const c10::IntArrayRef strides = first_->strides();
  int64_t contiguous = 1;
  bool is_canonical = true;
  bool has_ones = false;
  for (size_t d = sizes.size(); d-- > 0;) {
    is_canonical = is_canonical && strides[d] == contiguous;
    has_ones = has_ones || sizes[d] == 1;
    contiguous *= sizes[d];
  }
  return !has_ones || (is_canonical && (!has_number_ || sizes.size() == 1)) ? first_ : nullptr;
}

}  // namespace torchplug::aten
