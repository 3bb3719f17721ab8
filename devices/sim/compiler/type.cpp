#include "type.h"

#include <cmath>
#include <cstdio>

namespace torchplug::sim::compiler {
namespace {

struct TypeRow {
  plug_dtype dtype;
  const char* value;
  const char* memory;
};

constexpr TypeRow kTypes[] = {
    {PLUG_F32, "float", "float"},     {PLUG_F64, "double", "double"},   {PLUG_BF16, "float", "uint16_t"},
    {PLUG_F16, "float", "uint16_t"},  {PLUG_I64, "int64_t", "int64_t"}, {PLUG_I32, "int32_t", "int32_t"},
    {PLUG_I16, "int16_t", "int16_t"}, {PLUG_I8, "int8_t", "int8_t"},    {PLUG_U8, "uint8_t", "uint8_t"},
    {PLUG_BOOL, "bool", "uint8_t"},
};

const TypeRow& row_of(Type type) { return kTypes[static_cast<int>(type)]; }

}  // namespace

std::optional<Type> type_of(plug_dtype dtype) {
  int index = 0;
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return static_cast<Type>(index);
    ++index;
  }
  return std::nullopt;
}

Type computed(Type type) { return type == Type::kBF16 || type == Type::kF16 ? Type::kF32 : type; }
int bytes_of(Type type) { return static_cast<int>(PLUG_DTYPE_BYTES(row_of(type).dtype)); }
const char* value_name(Type type) { return row_of(type).value; }
const char* memory_name(Type type) { return row_of(type).memory; }

std::string loaded(Type type, const std::string& place) {
  switch (type) {
    case Type::kBF16: return "of_bf16(" + place + ")";
    case Type::kF16: return "of_f16(" + place + ")";
    case Type::kBool: return "(" + place + " != 0)";
    default: return place;
  }
}

std::string stored(Type type, const std::string& value) {
  switch (type) {
    case Type::kBF16: return "to_bf16(" + value + ")";
    case Type::kF16: return "to_f16(" + value + ")";
    default: return value;
  }
}

std::string literal(double number, Type type) {
  if (type == Type::kBool) return number != 0 ? "true" : "false";
  if (!is_real(type)) return literal(static_cast<std::int64_t>(number), type);
  const bool is_double = type == Type::kF64;
  if (std::isnan(number)) return is_double ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (!is_double) number = static_cast<double>(static_cast<float>(number));
  if (std::isinf(number)) {
    return std::string(number < 0 ? "(-" : "(") + (is_double ? "__builtin_inf())" : "__builtin_inff())");
  }
  char text[64];
  std::snprintf(text, sizeof text, is_double ? "%a" : "%af", number);
  for (char& c : text) {
    if (c == ',') c = '.';  // the program's locale may write it so
  }
  return text[0] == '-' ? "(" + std::string(text) + ")" : text;
}

std::string literal(std::int64_t number, Type type) {
  if (is_real(type)) return literal(static_cast<double>(number), type);
  if (type == Type::kBool) return number != 0 ? "true" : "false";
  if (number == INT64_MIN) return "(-9223372036854775807L - 1)";
  const std::string text = std::to_string(number) + (type == Type::kI64 ? "L" : "");
  const std::string cast =
      type == Type::kI64 || type == Type::kI32 ? "" : "(" + std::string(value_name(type)) + ")";
  return cast + (number < 0 ? "(" + text + ")" : text);
}

}  // namespace torchplug::sim::compiler
