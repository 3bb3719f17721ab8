#pragma once
// Element types that the compiler knows, and what C++ calls them in generated code.

#include <optional>
#include <string>

#include "torchplug/plug.h"

namespace torchplug::sim::compiler {

enum class Type { kF32, kF64, kBF16, kF16, kI64, kI32, kI16, kI8, kU8, kBool };

std::optional<Type> type_of(plug_dtype dtype);
// What values of the type are computed in: float32 for the types of 16 bits.
Type computed(Type type);
inline bool is_real(Type type) { return type <= Type::kF16; }
int bytes_of(Type type);
// Of a value in a register, and of one in memory.
const char* value_name(Type type);
const char* memory_name(Type type);
// "load_bf16(" and the like, around what lies in memory; and back.
std::string loaded(Type type, const std::string& place);
std::string stored(Type type, const std::string& value);

std::string literal(double number, Type type);
std::string literal(std::int64_t number, Type type);

}  // namespace torchplug::sim::compiler
