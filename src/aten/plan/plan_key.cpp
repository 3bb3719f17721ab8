#include "aten/plan/plan_key.h"

#include <ATen/Context.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <bit>
#include <sstream>

namespace torchplug::aten {
namespace {

constexpr uint64_t kMultiplier = 0xff51afd7ed558ccdULL;

uint64_t fold(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kMultiplier;
  return hash ^ (hash >> 32);
}

enum Kind : uint64_t {
  kNone = 1,
  kInt = 4,  // after kTensorKind and kUndefinedKind
  kBool,
  kFloat,
  kComplex,
  kText,
  kDevice,
  kGenerator,
  kList,
  kOther,
};

uint64_t bit(bool value, int place) { return static_cast<uint64_t>(value) << place; }

// What an argument is, without what PlanKey adds about its shape.
uint64_t kind_word(const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) {
    const c10::TensorImpl& tensor = *value.toTensor().unsafeGetTensorImpl();
    return fold(tensor_word(tensor, tensor.device()), tensor.key_set().raw_repr());
  }
  if (value.isBool()) return kBool | static_cast<uint64_t>(value.toBool()) << 8;
  if (value.isString()) return kText | std::hash<std::string_view>{}(value.toStringView()) << 8;
  if (value.isList()) {
    uint64_t hash = kList | value.toListRef().size() << 8;
    for (const c10::IValue& item : value.toListRef()) hash = fold(hash, kind_word(item));
    return hash;
  }
  return kOther | static_cast<uint64_t>(value.isNone()) << 8 | static_cast<uint64_t>(value.isInt()) << 9 |
         static_cast<uint64_t>(value.isDouble()) << 10 | static_cast<uint64_t>(value.isTensor()) << 11;
}

}  // namespace

// What operators look at besides their arguments. They run below autocast.
uint64_t PlanKey::context_word() {
  static const at::Context& context = at::globalContext();
  return static_cast<uint64_t>(c10::get_default_dtype_as_scalartype()) |
         bit(context.deterministicAlgorithms(), 8);
}

PlanKey::PlanKey(Arguments arguments, bool with_scalars, const std::vector<bool>& is_number)
    : PlanKey(with_scalars) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& value = arguments[i];
    const bool is_kind = i < is_number.size() && is_number[i] && !with_scalars;
    if (is_kind && value.isInt()) {
      push(kInt);
    } else if (is_kind && value.isBool()) {
      push(kBool);
    } else {
      add(value);
    }
  }
}

uint64_t PlanKey::hash() const {
  uint64_t hash = 0;
  for (uint64_t word : words_) hash = fold(hash, word);
  return hash;
}

void PlanKey::add_text(std::string_view text) {
  push(kText | text.size() << 8);
  for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min(sizeof word, text.size() - i));
    push(word);
  }
}

void PlanKey::add(int64_t number) {
  push(kInt);
  push(static_cast<uint64_t>(number));
}

void PlanKey::add(c10::IntArrayRef numbers) {
  push(kList | numbers.size() << 8);
  for (int64_t number : numbers) push(static_cast<uint64_t>(number));
}

void PlanKey::add(const at::ITensorListRef& tensors) {
  push(kList | tensors.size() << 8);
  for (const at::Tensor& tensor : tensors) add(tensor);
}

void PlanKey::add(bool value) { push(kBool | static_cast<uint64_t>(value) << 8); }

// What a number is decides dtypes, its value does not.
void PlanKey::add(const c10::Scalar& number) {
  if (number.isFloatingPoint()) {
    push(kFloat);
  } else if (number.isComplex()) {
    push(kComplex);
  } else if (number.isBoolean()) {
    push(kBool);
  } else {
    push(number.type() == at::ScalarType::UInt64 ? kOther : kInt);
  }
}

void PlanKey::add(const c10::IValue& value) {
  if (value.isTensor()) {
    add(value.toTensor());
  } else if (value.isNone()) {
    push(kNone);
  } else if (value.isInt()) {
    add(value.toInt());
  } else if (value.isBool()) {
    add(value.toBool());
  } else if (value.isDouble()) {
    push(kFloat);
    if (with_scalars_) push(std::bit_cast<uint64_t>(value.toDouble()));
  } else if (value.isComplexDouble()) {
    push(kComplex);
    if (with_scalars_) {
      push(std::bit_cast<uint64_t>(value.toComplexDouble().real()));
      push(std::bit_cast<uint64_t>(value.toComplexDouble().imag()));
    }
  } else if (value.isString()) {
    add_text(value.toStringView());
  } else if (value.isDevice()) {
    push(kDevice | static_cast<uint64_t>(value.toDevice().type()) << 8 |
         static_cast<uint64_t>(static_cast<uint8_t>(value.toDevice().index())) << 16);
    is_mixed_ = true;
  } else if (value.isGenerator()) {
    push(kGenerator);
  } else if (value.isList()) {
    const auto items = value.toListRef();
    push(kList | items.size() << 8);
    for (const c10::IValue& item : items) add(item);
  } else {
    // Its text is exact, if slow; no operator of aten comes here.
    push(kOther);
    std::ostringstream text;
    text << value;
    add_text(text.str());
  }
}

uint64_t kind_of_call(Arguments arguments) {
  uint64_t hash = PlanKey(/*with_scalars=*/false).hash();
  for (const c10::IValue& value : arguments) hash = fold(hash, kind_word(value));
  return hash;
}

}  // namespace torchplug::aten
