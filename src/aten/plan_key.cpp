#include "aten/plan_key.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>

#include <bit>
#include <cstring>

namespace torchplug {
namespace {

constexpr uint64_t kMultiplier = 0xff51afd7ed558ccdULL;

uint64_t fold(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kMultiplier;
  return hash ^ (hash >> 32);
}

// State of the process or thread that operators look at besides their arguments.
uint64_t context_word() {
  const at::Context& context = at::globalContext();
  return static_cast<uint64_t>(c10::get_default_dtype_as_scalartype()) |
         static_cast<uint64_t>(context.deterministicAlgorithms()) << 8 |
         static_cast<uint64_t>(context.deterministicFillUninitializedMemory()) << 9 |
         static_cast<uint64_t>(at::autocast::is_autocast_enabled(kDeviceType)) << 10;
}

enum Kind : uint64_t {
  kNone = 1,
  kTensor,
  kUndefined,
  kInt,
  kBool,
  kFloat,
  kComplex,
  kText,
  kDevice,
  kGenerator,
  kList,
  kOther,
};

}  // namespace

PlanKey::PlanKey(Arguments arguments, bool with_scalars, const std::vector<bool>& is_number)
    : with_scalars_(with_scalars) {
  add_kind(context_word());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i < is_number.size() && is_number[i] && !with_scalars) {
      add_scalar(arguments[i]);
    } else {
      add(arguments[i]);
    }
  }
  for (uint64_t word : words_) hash_ = fold(hash_, word);
}

void PlanKey::add_kind(uint64_t word) {
  words_.push_back(word);
  kind_hash_ = fold(kind_hash_, word);
}

void PlanKey::add_text(std::string_view text) {
  add_kind(kText | text.size() << 8);
  for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min(sizeof word, text.size() - i));
    add_kind(word);
  }
}

void PlanKey::add_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    add_kind(kUndefined);
    return;
  }
  const auto bit = [](bool value, int place) { return static_cast<uint64_t>(value) << place; };
  add_kind(kTensor | static_cast<uint64_t>(tensor.scalar_type()) << 8 |
           static_cast<uint64_t>(static_cast<uint8_t>(tensor.device().index())) << 16 |
           static_cast<uint64_t>(tensor.device().type()) << 24 | bit(tensor.is_conj(), 32) |
           bit(tensor.is_neg(), 33) | bit(tensor.unsafeGetTensorImpl()->is_wrapped_number(), 34) |
           static_cast<uint64_t>(tensor.dim()) << 40);
  for (int64_t size : tensor.sizes()) add_word(static_cast<uint64_t>(size));
  for (int64_t stride : tensor.strides()) add_word(static_cast<uint64_t>(stride));
  add_sharing(tensor);
}

// Which of the tensors before it lies on the same memory, and how far away: operators return an
// argument, or refuse one that overlaps another.
void PlanKey::add_sharing(const at::Tensor& tensor) {
  if (!tensor.has_storage()) return;
  const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  for (size_t i = 0; i < storages_.size(); ++i) {
    if (storages_[i].first != storage) continue;
    add_word(i + 1);
    add_word(static_cast<uint64_t>(tensor.storage_offset() - storages_[i].second));
    return;
  }
  storages_.emplace_back(storage, tensor.storage_offset());
  add_word(0);
}

// The kind of a number: what it is decides dtypes, its value does not.
void PlanKey::add_scalar(const c10::IValue& value) {
  if (value.isInt()) {
    add_kind(kInt);
  } else if (value.isBool()) {
    add_kind(kBool);
  } else {
    add(value);
  }
}

void PlanKey::add(const c10::IValue& value) {
  if (value.isTensor()) {
    add_tensor(value.toTensor());
  } else if (value.isNone()) {
    add_kind(kNone);
  } else if (value.isInt()) {
    add_kind(kInt);
    add_word(static_cast<uint64_t>(value.toInt()));
  } else if (value.isBool()) {
    add_kind(kBool | static_cast<uint64_t>(value.toBool()) << 8);
  } else if (value.isDouble()) {
    add_kind(kFloat);
    if (with_scalars_) add_word(std::bit_cast<uint64_t>(value.toDouble()));
  } else if (value.isComplexDouble()) {
    add_kind(kComplex);
    if (with_scalars_) {
      add_word(std::bit_cast<uint64_t>(value.toComplexDouble().real()));
      add_word(std::bit_cast<uint64_t>(value.toComplexDouble().imag()));
    }
  } else if (value.isString()) {
    add_text(value.toStringView());
  } else if (value.isDevice()) {
    add_kind(kDevice | static_cast<uint64_t>(value.toDevice().type()) << 8 |
             static_cast<uint64_t>(static_cast<uint8_t>(value.toDevice().index())) << 16);
  } else if (value.isGenerator()) {
    add_kind(kGenerator);
  } else if (value.isList()) {
    const auto items = value.toListRef();
    add_kind(kList | items.size() << 8);
    for (const c10::IValue& item : items) add(item);
  } else {
    // Its text is exact, if slow; no operator of aten comes here.
    add_kind(kOther);
    std::ostringstream text;
    text << value;
    add_text(text.str());
  }
}

}  // namespace torchplug
