#pragma once
// Everything about a call that can decide what its outputs look like, as one run of words.
// Two calls of an operator with equal keys have outputs of equal dtype, sizes and strides. Made for every
// call: what a plan already knows about the call's devices need not be looked at again.

#include <ATen/core/IListRef.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <cstring>
#include <optional>
#include <vector>

#include "aten/tensor/arguments.h"

namespace torchplug::aten {

class PlanKey {
 public:
  // `is_number`: which arguments are Scalars, of which only the kind counts unless `with_scalars`.
  PlanKey(Arguments arguments, bool with_scalars, const std::vector<bool>& is_number = {});

  // For callers that have the arguments unboxed: begin with nothing, then add each in order.
  explicit PlanKey(bool with_scalars) : with_scalars_(with_scalars) { push(context_word()); }
  inline void add(const at::Tensor& given);
  void add(const c10::IValue& value);
  // A number that counts by its kind alone.
  void add(const c10::Scalar& number);
  void add(int64_t number);
  void add(bool value);
  void add(c10::ScalarType type) { add(static_cast<int64_t>(type)); }
  void add(c10::IntArrayRef numbers);
  void add(at::OptionalIntArrayRef numbers) { add_optional(numbers); }
  void add(const at::ITensorListRef& tensors);
  template <class T>
  void add(const std::optional<T>& value) {
    add_optional(value);
  }

  // The words, to keep or to compare.
  c10::ArrayRef<uint64_t> words() const { return {words_.data(), words_.size()}; }
  bool is(const std::vector<uint64_t>& words) const {
    return words.size() == words_.size() &&
           std::memcmp(words.data(), words_.data(), words_.size() * sizeof(uint64_t)) == 0;
  }
  bool operator==(const PlanKey& other) const { return words() == other.words(); }
  uint64_t hash() const;

  // The device of the call's tensors, if there is just one and all tensors are on it but for single
  // numbers on the host; -1 if it takes a closer look.
  DeviceIndex device() const { return is_mixed_ ? DeviceIndex{-1} : device_; }
  // Whether a boolean or byte tensor is among the arguments: a mask, where indices are expected.
  bool has_mask() const { return has_mask_; }
  // Whether a tensor with dimensions is on the host.
  bool has_host_tensor() const { return has_host_tensor_; }
  // Whether two tensors lie on one storage.
  bool has_sharing() const { return has_sharing_; }
  // Whether a single number is on the host.
  bool has_host_scalar() const { return has_host_scalar_; }

 private:
  static uint64_t context_word();
  void push(uint64_t word) { words_.push_back(word); }
  inline uint64_t* add_room(size_t count);
  inline void note_place(const c10::TensorImpl& tensor, c10::Device device);
  inline void add_sharing(const c10::TensorImpl& tensor);
  void add_text(std::string_view text);
  template <class Optional>
  void add_optional(const Optional& value) {
    push(value.has_value() ? 1 : 0);
    if (value.has_value()) add(*value);
  }

  // Left uninitialised: a key takes no more time than it has words.
  c10::SmallVector<uint64_t, 64> words_;
  // The tensors met so far, the first on each storage.
  c10::SmallVector<const c10::TensorImpl*, 6> tensors_;
  bool with_scalars_;
  bool is_mixed_ = false;
  bool has_mask_ = false;
  bool has_sharing_ = false;
  bool has_host_tensor_ = false;
  bool has_host_scalar_ = false;
  DeviceIndex device_ = -1;
};

// Which kinds of arguments a call has, whatever their sizes and strides.
uint64_t kind_of_call(Arguments arguments);

// The hot part.

inline constexpr uint64_t kTensorKind = 2;
inline constexpr uint64_t kUndefinedKind = 3;

// With the dispatch keys, all about a tensor but its sizes and strides.
inline uint64_t tensor_word(const c10::TensorImpl& tensor, c10::Device device) {
  return kTensorKind | static_cast<uint64_t>(c10::typeMetaToScalarType(tensor.dtype())) << 8 |
         static_cast<uint64_t>(static_cast<uint8_t>(device.index())) << 16 |
         static_cast<uint64_t>(device.type()) << 24 |
         static_cast<uint64_t>(tensor.is_wrapped_number()) << 32 | static_cast<uint64_t>(tensor.dim()) << 40;
}

inline uint64_t byte_offset(const c10::TensorImpl& tensor) {
  return static_cast<uint64_t>(tensor.storage_offset()) * tensor.itemsize();
}

uint64_t* PlanKey::add_room(size_t count) {
  const size_t place = words_.size();
  words_.resize_for_overwrite(place + count);
  return words_.data() + place;
}

void PlanKey::add(const at::Tensor& given) {
  const c10::TensorImpl& tensor = *given.unsafeGetTensorImpl();
  if (C10_UNLIKELY(!given.defined())) {
    push(kUndefinedKind);
    return;
  }
  const c10::Device device = tensor.device();
  const c10::IntArrayRef sizes = tensor.sizes();
  const c10::IntArrayRef strides = tensor.strides();
  uint64_t* word = add_room(2 + 2 * sizes.size());
  *word++ = tensor_word(tensor, device);
  *word++ = tensor.key_set().raw_repr();
  for (size_t d = 0; d < sizes.size(); ++d) {
    *word++ = static_cast<uint64_t>(sizes[d]);
    *word++ = static_cast<uint64_t>(strides[d]);
  }
  add_sharing(tensor);
  note_place(tensor, device);
}

void PlanKey::note_place(const c10::TensorImpl& tensor, c10::Device device) {
  const c10::ScalarType type = c10::typeMetaToScalarType(tensor.dtype());
  has_mask_ = has_mask_ || type == at::kBool || type == at::kByte;
  if (C10_LIKELY(device.type() == kDeviceType)) {
    is_mixed_ = is_mixed_ || (device_ >= 0 && device_ != device.index());
    device_ = device.index();
  } else if (tensor.dim() > 0) {
    is_mixed_ = true;
    has_host_tensor_ = true;
  } else {
    has_host_scalar_ = true;
  }
}

// Which of the tensors before it lies on the same memory, and how far away: operators return an
// argument, or refuse one that overlaps another.
void PlanKey::add_sharing(const c10::TensorImpl& tensor) {
  const c10::StorageImpl* storage = tensor.unsafe_storage().unsafeGetStorageImpl();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i]->unsafe_storage().unsafeGetStorageImpl() != storage) continue;
    push(i + 1);
    push(byte_offset(tensor) - byte_offset(*tensors_[i]));
    has_sharing_ = true;
    return;
  }
  tensors_.push_back(&tensor);
}

}  // namespace torchplug::aten
