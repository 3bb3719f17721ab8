#include "aten/kernel/result_kind.h"

#include <ATen/core/List.h>
#include <c10/core/Scalar.h>
#include <c10/util/Exception.h>

#include "aten/kernel/plug_form.h"
#include "base/dtype.h"

namespace torchplug::aten {
namespace {

ResultKind kind_of_list(const c10::Type& item) {
  switch (item.kind()) {
    case c10::TypeKind::TensorType: return ResultKind::kTensors;
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::IntType: return ResultKind::kInts;
    case c10::TypeKind::FloatType: return ResultKind::kFloats;
    case c10::TypeKind::BoolType: return ResultKind::kBools;
    default: return ResultKind::kOther;
  }
}

ResultKind result_kind(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType: return ResultKind::kTensor;
    case c10::TypeKind::BoolType: return ResultKind::kBool;
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::IntType: return ResultKind::kInt;
    case c10::TypeKind::FloatType: return ResultKind::kFloat;
    case c10::TypeKind::NumberType: return ResultKind::kScalar;
    case c10::TypeKind::ListType: return kind_of_list(*type.containedType(0));
    default: return ResultKind::kOther;
  }
}

at::ScalarType dtype_of_numbers(ResultKind kind) {
  switch (kind) {
    case ResultKind::kInts: return at::kLong;
    case ResultKind::kFloats: return at::kDouble;
    default: return at::kBool;
  }
}

template <class T, class Item>
c10::List<T> list_of(const Item* items, uint32_t count) {
  c10::List<T> list;
  for (uint32_t i = 0; i < count; ++i) list.push_back(static_cast<T>(items[i]));
  return list;
}

}  // namespace

const char* wrong_output(const OutputRequest& request, std::span<const ResultKind> kinds,
                         std::span<const plug_value> results) {
  const auto type = to_scalar_type(request.dtype);
  if (request.index >= kinds.size() || request.index >= results.size())
    return "host->output was called with an index of no result";
  if (!type || c10::isQIntType(*type)) return "host->output was called with an unknown dtype";
  const ResultKind kind = kinds[request.index];
  const bool is_begun = request.is_begun && kind == ResultKind::kTensors;
  if (is_number(kind)) return "host->output was called for a result that is a number";
  if (results[request.index].tag != PLUG_NONE && !is_begun)
    return "host->output was called for a result that has its shape already";
  for (int32_t d = 0; d < request.ndim; ++d) {
    if (request.sizes[d] < 0 || (request.strides != nullptr && request.strides[d] < 0))
      return "host->output was called with a negative size or stride";
  }
  if (request.ndim < 0) return "host->output was called with a negative number of dimensions";
  if (!is_numbers(kind)) return nullptr;
  if (request.is_preparing)
    return "host->output was called in prepare for a list of numbers, which a kernel fills";
  return request.ndim == 1 && *type == dtype_of_numbers(kind)
             ? nullptr
             : "host->output was called for a list of numbers with another dtype, or "
               "not with one dimension";
}

std::vector<ResultKind> result_kinds(const c10::FunctionSchema& schema) {
  std::vector<ResultKind> kinds;
  for (const c10::Argument& result : schema.returns()) kinds.push_back(result_kind(*result.type()));
  return kinds;
}

plug_value open_number(ResultKind kind, Arguments arguments) {
  switch (kind) {
    case ResultKind::kBool: return tagged(PLUG_VALUE_BOOL);
    case ResultKind::kInt: return tagged(PLUG_VALUE_INT);
    case ResultKind::kFloat: return tagged(PLUG_VALUE_FLOAT);
    default: break;
  }
  const bool has_tensor = !arguments.empty() && arguments[0].isTensor() && arguments[0].toTensor().defined();
  const at::ScalarType dtype = has_tensor ? arguments[0].toTensor().scalar_type() : at::kDouble;
  if (dtype == at::kBool) return tagged(PLUG_VALUE_BOOL);
  if (dtype == at::ScalarType::UInt64) return tagged(PLUG_VALUE_UINT);
  return tagged(c10::isIntegralType(dtype, /*includeBool=*/false) ? PLUG_VALUE_INT : PLUG_VALUE_FLOAT);
}

c10::IValue number_of(const plug_value& value, ResultKind kind, const char* title, size_t index) {
  c10::Scalar number;
  switch (value.tag) {
    case PLUG_VALUE_BOOL: number = value.as.i != 0; break;
    case PLUG_VALUE_INT: number = value.as.i; break;
    case PLUG_VALUE_UINT: number = value.as.u; break;
    case PLUG_VALUE_FLOAT: number = value.as.f; break;
    default:
      TORCH_CHECK(false, "Kernel ", title, " set result ", index, " to tag ", value.tag,
                  ", which is not a number's. Leave the tag as the host set it.");
  }
  switch (kind) {
    case ResultKind::kBool: return number.toBool();
    case ResultKind::kInt: return number.toLong();
    case ResultKind::kFloat: return number.toDouble();
    default: return number;
  }
}

plug_value open_numbers(const at::Tensor& numbers) {
  const auto tag_of = [](at::ScalarType type) {
    if (type == at::kLong) return PLUG_VALUE_INTS;
    return type == at::kDouble ? PLUG_VALUE_FLOATS : PLUG_VALUE_BOOLS;
  };
  plug_value value = tagged(tag_of(numbers.scalar_type()));
  value.count = static_cast<uint32_t>(numbers.numel());
  value.as.ints = static_cast<const int64_t*>(numbers.mutable_data_ptr());
  return value;
}

c10::IValue numbers_of(const plug_value& value, ResultKind kind) {
  switch (kind) {
    case ResultKind::kInts: return list_of<int64_t>(value.as.ints, value.count);
    case ResultKind::kFloats: return list_of<double>(value.as.floats, value.count);
    default: return list_of<bool>(value.as.bools, value.count);
  }
}

}  // namespace torchplug::aten
