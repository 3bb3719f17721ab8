#include "aten/plan/plan_key.h"

#include <ATen/Context.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "aten/tensor/plain_tensor.h"

namespace torchplug::aten {
namespace {

constexpr uint64_t kMultiplier = 0xff51afd7ed558ccdULL;

uint64_t fold(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kMultiplier;
  return hash ^ (hash >> 32);
}

enum Kind : uint64_t {
  kInt = 4,  // after those in the header
  kBool,
  kFloat,
  kComplex,
  kText,
  kDevice,
  kGenerator,
  kList,
  kOther,
};

bool is_scalar(const c10::IValue& value) { return value.isScalar() || value.isUnsigned(); }

uint64_t order_of(double value, double before) {
  if (value < before) return 1;
  return value == before ? 2 : 3;
}

uint64_t bit(bool value, int place) { return static_cast<uint64_t>(value) << place; }

// The largest magnitudes that dtypes hold: integers of 8 to 64 bits, of which the negative ones reach
// further, the floats of 8 and 16 bits, float32, float64.
constexpr std::array kLimits{127.0,
                             128.0,
                             240.0,
                             255.0,
                             448.0,
                             32767.0,
                             32768.0,
                             57344.0,
                             65504.0,
                             65535.0,
                             2147483647.0,
                             2147483648.0,
                             4294967295.0,
                             0x1p63 - 1024,
                             0x1p63,
                             0x1p64 - 2048,
                             0x1.fep127,
                             0x1.fffffep127,
                             0x1.fffffffffffffp1023};

// What every dtype of four bytes or more holds.
constexpr double kWide = 2147483647;

constexpr uint64_t dtype_bits(std::initializer_list<c10::ScalarType> types) {
  uint64_t bits = 0;
  for (c10::ScalarType type : types) bits |= dtype_bit(type);
  return bits;
}

// Of one or two bytes: too small for some numbers.
constexpr uint64_t kNarrow = [] {
  using enum c10::ScalarType;
  return dtype_bits({Byte, Char, Short, UInt16, Half, BFloat16, Float8_e5m2, Float8_e4m3fn, Float8_e5m2fnuz,
                     Float8_e4m3fnuz, Float8_e8m0fnu});
}();
constexpr uint64_t kUnsigned = [] {
  using enum c10::ScalarType;
  return dtype_bits({Byte, UInt16, UInt32, UInt64});
}();

// How many limits it exceeds.
uint64_t range_of(double magnitude) {
  if (C10_LIKELY(!(magnitude > kLimits[0]))) return 0;
  const auto* limit = std::lower_bound(kLimits.begin(), kLimits.end(), magnitude);
  return static_cast<uint64_t>(limit - kLimits.begin());
}

// What operators ask of a number: whether it is negative, zero, a proper fraction or one, and which dtypes
// are too small for it.
uint64_t class_of(double value) {
  enum Size : uint64_t { kNotANumber, kZero, kFraction, kOne, kLarge };
  const double magnitude = std::abs(value);
  const uint64_t sign = bit(value < 0, 0);
  if (magnitude == 0) return kZero << 1;
  if (magnitude < 1) return kFraction << 1 | sign;
  if (magnitude == 1) return kOne << 1 | sign;
  return std::isnan(value) ? kNotANumber << 1 : (kLarge + range_of(magnitude)) << 1 | sign;
}

uint64_t byte_offset(const c10::TensorImpl& tensor) {
  return static_cast<uint64_t>(tensor.storage_offset()) * tensor.itemsize();
}

// What the kind of a call says about how a tensor lies in memory.
uint64_t layout_bits(const c10::TensorImpl& tensor) {
  uint64_t bits = bit(tensor.is_contiguous(), 48) | bit(tensor.is_non_overlapping_and_dense(), 49) |
                  bit(tensor.numel() == 0, 50);
  if (tensor.dim() == 4) {
    bits |= bit(tensor.is_contiguous(at::MemoryFormat::ChannelsLast), 51) |
            bit(tensor.is_strides_like_channels_last(), 52);
  } else if (tensor.dim() == 5) {
    bits |= bit(tensor.is_contiguous(at::MemoryFormat::ChannelsLast3d), 51) |
            bit(tensor.is_strides_like_channels_last_3d(), 52);
  }
  return bits;
}

}  // namespace

// What operators look at besides their arguments. They run below autocast.
uint64_t PlanKey::context_word() {
  static const at::Context& context = at::globalContext();
  return static_cast<uint64_t>(c10::get_default_dtype_as_scalartype()) |
         bit(context.deterministicAlgorithms(), kDeterministicPlace);
}

PlanKey::PlanKey(Arguments arguments, Numbers numbers, const std::vector<bool>& is_number, KeyOf of)
    : PlanKey(numbers, of) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& value = arguments[i];
    const bool is_one = i < is_number.size() && is_number[i] && is_scalar(value);
    if (is_one && numbers != Numbers::kValue) {
      add(value.toScalar());
    } else {
      add(value);
    }
  }
}

uint64_t PlanKey::hash_of_words() const {
  uint64_t hash = 0;
  for (uint64_t word : words_) hash = fold(hash, word);
  return hash;
}

// A usual tensor, on a storage of its own, is added without a call or a loop: every operator does this at
// every call.
void PlanKey::add_tensor(const c10::TensorImpl& tensor, c10::Device device) {
  constexpr size_t kInPlace = C10_SIZES_AND_STRIDES_MAX_INLINE_SIZE;
  const c10::impl::SizesAndStrides& shape = PlainTensor::shape(tensor);
  const size_t dimensions = shape.size();
  const size_t place = words_.size();
  const bool is_usual = of_ == KeyOf::kCall && PlainTensor::is(tensor) && dimensions <= kInPlace &&
                        place + 2 + 2 * kInPlace <= words_.capacity() &&
                        tensors_.size() + 1 <= tensors_.capacity();
  if (C10_UNLIKELY(!is_usual || shares_storage(tensor))) {
    add_unusual(tensor, device);
    return;
  }
  const int64_t* sizes = shape.sizes_data();
  const int64_t* strides = shape.strides_data();
  uint64_t* word = words_.data() + place;
  words_.set_size(place + 2 + 2 * dimensions);
  tensors_.push_back(&tensor);
  add_looks(tensor, device, dimensions, word);
  // All that a tensor keeps in place: what is beyond its dimensions falls off the end.
  std::memcpy(word + 2, sizes, kInPlace * sizeof(int64_t));
  std::memcpy(word + 2 + dimensions, strides, kInPlace * sizeof(int64_t));
}

void PlanKey::add_unusual(const c10::TensorImpl& tensor, c10::Device device) {
  if (of_ == KeyOf::kKind) {
    add_kind(tensor, device);
    return;
  }
  const c10::IntArrayRef sizes = tensor.sizes();
  const c10::IntArrayRef strides = tensor.strides();
  uint64_t* word = add_room(2 + 2 * sizes.size());
  add_looks(tensor, device, sizes.size(), word);
  std::copy(sizes.begin(), sizes.end(), word + 2);
  std::copy(strides.begin(), strides.end(), word + 2 + sizes.size());
  add_sharing(tensor);
}

void PlanKey::add_kind(const c10::TensorImpl& tensor, c10::Device device) {
  uint64_t* word = add_room(2);
  add_looks(tensor, device, static_cast<size_t>(tensor.dim()), word);
  word[0] |= layout_bits(tensor);
}

// All but sizes and strides, in two words.
void PlanKey::add_looks(const c10::TensorImpl& tensor, c10::Device device, size_t dimensions,
                        uint64_t* word) {
  const c10::ScalarType type = c10::typeMetaToScalarType(tensor.dtype());
  word[0] = kTensorKind | static_cast<uint64_t>(type) << 8 |
            static_cast<uint64_t>(std::bit_cast<uint16_t>(device)) << 16 |
            static_cast<uint64_t>(tensor.is_wrapped_number()) << 32 | static_cast<uint64_t>(dimensions) << 40;
  word[1] = tensor.key_set().raw_repr();
  dtypes_ |= dtype_bit(type);
  note_place(device, dimensions);
}

uint64_t* PlanKey::add_room(size_t count) {
  const size_t place = words_.size();
  words_.resize_for_overwrite(place + count);
  return words_.data() + place;
}

void PlanKey::note_place(c10::Device device, size_t dimensions) {
  if (C10_LIKELY(device.type() == kDeviceType)) {
    if (device_ == device.index()) return;
    is_mixed_ = is_mixed_ || device_ >= 0;
    device_ = device.index();
  } else if (dimensions > 0) {
    is_mixed_ = true;
    has_host_tensor_ = true;
  } else {
    has_host_scalar_ = true;
  }
}

// With one that was added before; or whether it has none.
bool PlanKey::shares_storage(const c10::TensorImpl& tensor) const {
  const c10::StorageImpl* storage = tensor.unsafe_storage().unsafeGetStorageImpl();
  bool shares = storage == nullptr;
  for (const c10::TensorImpl* other : tensors_)
    shares |= other->unsafe_storage().unsafeGetStorageImpl() == storage;
  return shares;
}

// Which of the tensors before it lies on the same memory, and how far away: operators return an
// argument, or refuse one that overlaps another.
void PlanKey::add_sharing(const c10::TensorImpl& tensor) {
  const c10::StorageImpl* storage = &storage_of(tensor);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i]->unsafe_storage().unsafeGetStorageImpl() != storage) continue;
    push(i + 1);
    push(byte_offset(tensor) - byte_offset(*tensors_[i]));
    has_sharing_ = true;
    return;
  }
  tensors_.push_back(&tensor);
}

// A factory has no tensor to tell.
bool PlanKey::may_hold(uint64_t dtypes) const { return dtypes_ == 0 || (dtypes_ & dtypes) != 0; }

void PlanKey::add_text(std::string_view text) {
  push(kText | text.size() << 8);
  for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min(sizeof word, text.size() - i));
    push(word);
  }
}

uint64_t PlanKey::integer_word(int64_t number) const {
  return of_ == KeyOf::kCall ? static_cast<uint64_t>(number) : class_of(static_cast<double>(number));
}

void PlanKey::add(int64_t number) {
  push(kInt);
  push(integer_word(number));
}

void PlanKey::add(c10::IntArrayRef numbers) {
  push(kList | numbers.size() << 8);
  for (int64_t number : numbers) push(integer_word(number));
}

void PlanKey::add(const at::ITensorListRef& tensors) {
  push(kList | tensors.size() << 8);
  for (const at::Tensor& tensor : tensors) add(tensor);
}

void PlanKey::add(bool value) { push(kBool | static_cast<uint64_t>(value) << 8); }

// What the dtypes of a call may refuse: NaN, numbers too large, negative ones.
uint64_t PlanKey::range_word(uint64_t kind, double value) const {
  const double most = may_hold(kNarrow) ? kLimits[0] : kWide;
  const bool fits = std::abs(value) <= most && (value >= 0 || !may_hold(kUnsigned));
  if (C10_LIKELY(fits)) return kind;
  return kind | bit(std::isnan(value), 13) | bit(value < 0, 15) | range_of(std::abs(value)) << 16;
}

// With how it compares with the number before it: ranges are checked.
void PlanKey::add_number(uint64_t kind, double value) {
  if (numbers_ == Numbers::kRange) return push(range_word(kind, value));
  const double before = std::exchange(last_number_, value);
  const bool has_before = std::exchange(has_number_, true);
  const uint64_t order = has_before ? order_of(value, before) : 0;
  push(kind | order << 8 | class_of(value) << 16);
}

void PlanKey::add(const c10::Scalar& number) {
  if (number.isFloatingPoint()) {
    add_number(kFloat, number.toDouble());
  } else if (number.isComplex()) {
    add_number(kComplex, number.toComplexDouble().real());
    add_number(kComplex, number.toComplexDouble().imag());
  } else if (number.isBoolean()) {
    push(kBool);
  } else if (number.type() == at::ScalarType::UInt64) {
    add_number(kOther, static_cast<double>(number.toUInt64()));
  } else {
    add_number(kInt, static_cast<double>(number.toLong()));
  }
}

void PlanKey::add_double(double value) { push(std::bit_cast<uint64_t>(value)); }

// Numbers in a list are not compared with each other.
void PlanKey::add_list(const c10::IValue& list) {
  const auto items = list.toListRef();
  push(kList | items.size() << 8);
  const bool is_exact = list.isIntList();
  for (const c10::IValue& item : items) {
    if (is_exact) {
      push(integer_word(item.toInt()));
    } else if (is_scalar(item) && !item.isBool() && numbers_ != Numbers::kValue) {
      has_number_ = false;
      add(item.toScalar());
    } else {
      add(item);
    }
  }
  has_number_ = false;
}

void PlanKey::add(const c10::IValue& value) {
  if (value.isTensor()) {
    add(value.toTensor());
  } else if (value.isNone()) {
    push(kNoneKind);
  } else if (value.isInt()) {
    add(value.toInt());
  } else if (value.isBool()) {
    add(value.toBool());
  } else if (is_scalar(value) && numbers_ != Numbers::kValue) {
    add(value.toScalar());
  } else if (value.isDouble()) {
    push(kFloat);
    add_double(value.toDouble());
  } else if (value.isComplexDouble()) {
    push(kComplex);
    add_double(value.toComplexDouble().real());
    add_double(value.toComplexDouble().imag());
  } else if (value.isString()) {
    add_text(value.toStringView());
  } else if (value.isDevice()) {
    push(kDevice | static_cast<uint64_t>(value.toDevice().type()) << 8 |
         static_cast<uint64_t>(static_cast<uint8_t>(value.toDevice().index())) << 16);
    is_mixed_ = true;
  } else if (value.isGenerator()) {
    push(kGenerator);
  } else if (value.isList()) {
    add_list(value);
  } else {
    // Its text is exact, if slow; no operator of aten comes here.
    push(kOther);
    std::ostringstream text;
    text << value;
    add_text(text.str());
  }
}

}  // namespace torchplug::aten
