#pragma once
// Everything about a call that can decide what its outputs look like, or whether it is refused, as one run of
// words. Two calls of an operator with equal keys have outputs of equal dtype, sizes and strides. Made for
// every call: what a plan already knows about the call's devices need not be looked at again.
//
// Numbers (Scalars and floats) do not count by their value, but by what an operator may ask of them before it
// computes. So a call with a learning rate never met before has a key that has been, and one with a negative
// probability has not.

#include <ATen/core/IListRef.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <cstring>
#include <optional>
#include <vector>

#include "aten/tensor/arguments.h"
#include "aten/tensor/storage.h"

namespace torchplug::aten {

// How much of a call counts: all of it, or its kind, which is everything but sizes and strides. Of those the
// kind has only whether there are elements, and how they lie in memory: contiguous, channels last, with gaps.
// Integers, which may be sizes, count in it as numbers do.
enum class KeyOf { kCall, kKind };

// What counts of a number besides its kind (integer, float, ...).
enum class Numbers {
  kRange,  // which dtypes can hold it, of those that the tensors before it might have
  kClass,  // also its sign, whether it is below, at or above one, and which of two is larger
  kValue
};

inline constexpr uint64_t kNoneKind = 1;
inline constexpr uint64_t kTensorKind = 2;
inline constexpr uint64_t kUndefinedKind = 3;

class PlanKey {
 public:
  // `is_number`: which arguments are Scalars or floats: an integer may be either that or a size.
  PlanKey(Arguments arguments, Numbers numbers, const std::vector<bool>& is_number = {},
          KeyOf of = KeyOf::kCall);

  // For callers that have the arguments unboxed: begin with nothing, then add each in order. The key is that
  // of the same arguments boxed.
  explicit PlanKey(Numbers numbers, KeyOf of = KeyOf::kCall) : numbers_(numbers), of_(of) {
    push(context_word());
  }
  inline void add(const at::Tensor& tensor);
  void add(const c10::IValue& value);
  // A number that does not count by its value.
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
  // Of all words; to be asked for when all are there.
  uint64_t hash() const {
    if (hash_ == 0) hash_ = hash_of_words();
    return hash_;
  }

  // The device of the call's tensors, if there is just one and all tensors are on it but for single
  // numbers on the host; -1 if it takes a closer look.
  DeviceIndex device() const { return is_mixed_ ? DeviceIndex{-1} : device_; }
  // Whether torch.use_deterministic_algorithms was on.
  bool is_deterministic() const { return (words_[0] >> kDeterministicPlace & 1) != 0; }
  // Whether a boolean or byte tensor is among the arguments: a mask, where indices are expected.
  inline bool has_mask() const;
  // Whether a tensor with dimensions is on the host.
  bool has_host_tensor() const { return has_host_tensor_; }
  // Whether two tensors lie on one storage.
  bool has_sharing() const { return has_sharing_; }
  // Whether a single number is on the host.
  bool has_host_scalar() const { return has_host_scalar_; }

 private:
  static constexpr int kDeterministicPlace = 8;
  static uint64_t context_word();
  uint64_t hash_of_words() const;
  uint64_t integer_word(int64_t number) const;
  void add_tensor(const c10::TensorImpl& tensor, c10::Device device);
  void add_unusual(const c10::TensorImpl& tensor, c10::Device device);
  void add_kind(const c10::TensorImpl& tensor, c10::Device device);
  inline void add_looks(const c10::TensorImpl& tensor, c10::Device device, size_t dimensions, uint64_t* word);
  inline bool shares_storage(const c10::TensorImpl& tensor) const;
  bool may_hold(uint64_t dtypes) const;
  uint64_t range_word(uint64_t kind, double value) const;
  void add_number(uint64_t kind, double value);
  void add_double(double value);
  void add_list(const c10::IValue& list);
  void push(uint64_t word) { words_.push_back(word); }
  inline uint64_t* add_room(size_t count);
  inline void note_place(c10::Device device, size_t dimensions);
  void add_sharing(const c10::TensorImpl& tensor);
  void add_text(std::string_view text);
  template <class Optional>
  void add_optional(const Optional& value) {
    if (value.has_value()) {
      add(*value);
    } else {
      push(kNoneKind);
    }
  }

  // Left uninitialised: a key takes no more time than it has words.
  c10::SmallVector<uint64_t, 64> words_;
  // The tensors met so far, the first on each storage.
  c10::SmallVector<const c10::TensorImpl*, 6> tensors_;
  mutable uint64_t hash_ = 0;
  double last_number_ = 0;
  bool has_number_ = false;  // the argument before is last_number_
  Numbers numbers_;
  KeyOf of_;
  uint64_t dtypes_ = 0;  // of the tensors met so far, a bit each
  bool is_mixed_ = false;
  bool has_sharing_ = false;
  bool has_host_tensor_ = false;
  bool has_host_scalar_ = false;
  DeviceIndex device_ = -1;
};

constexpr uint64_t dtype_bit(c10::ScalarType type) { return uint64_t{1} << static_cast<int>(type); }

void PlanKey::add(const at::Tensor& tensor) {
  if (C10_UNLIKELY(!tensor.defined())) {
    push(kUndefinedKind);
    return;
  }
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  add_tensor(impl, impl.device());
}

bool PlanKey::has_mask() const { return (dtypes_ & (dtype_bit(at::kBool) | dtype_bit(at::kByte))) != 0; }

}  // namespace torchplug::aten
