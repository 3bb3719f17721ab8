#pragma once
// PyTorch's element types as plug.h names them.

#include <c10/core/ScalarType.h>

#include <array>
#include <optional>
#include <utility>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::base {

namespace detail {

using c10::ScalarType;

inline constexpr std::pair<ScalarType, plug_dtype> kTypes[] = {
    {ScalarType::Byte, PLUG_U8},
    {ScalarType::Char, PLUG_I8},
    {ScalarType::Short, PLUG_I16},
    {ScalarType::Int, PLUG_I32},
    {ScalarType::Long, PLUG_I64},
    {ScalarType::UInt16, PLUG_U16},
    {ScalarType::UInt32, PLUG_U32},
    {ScalarType::UInt64, PLUG_U64},
    {ScalarType::Half, PLUG_F16},
    {ScalarType::Float, PLUG_F32},
    {ScalarType::Double, PLUG_F64},
    {ScalarType::BFloat16, PLUG_BF16},
    {ScalarType::ComplexHalf, PLUG_C32},
    {ScalarType::ComplexFloat, PLUG_C64},
    {ScalarType::ComplexDouble, PLUG_C128},
    {ScalarType::Bool, PLUG_BOOL},
    {ScalarType::Float8_e4m3fn, PLUG_F8_E4M3FN},
    {ScalarType::Float8_e4m3fnuz, PLUG_F8_E4M3FNUZ},
    {ScalarType::Float8_e5m2, PLUG_F8_E5M2},
    {ScalarType::Float8_e5m2fnuz, PLUG_F8_E5M2FNUZ},
    {ScalarType::Float8_e8m0fnu, PLUG_F8_E8M0FNU},
    {ScalarType::Float4_e2m1fn_x2, PLUG_F4_E2M1FN_X2},
    {ScalarType::QInt8, PLUG_QI8},
    {ScalarType::QInt32, PLUG_QI32},
    {ScalarType::QUInt8, PLUG_QU8},
};

// By scalar type; zero, which is no dtype's code, for those plug.h has no name for.
inline constexpr auto kDtypes = [] {
  std::array<plug_dtype, static_cast<size_t>(ScalarType::NumOptions)> dtypes{};
  for (const auto& [scalar_type, dtype] : kTypes) dtypes[static_cast<size_t>(scalar_type)] = dtype;
  return dtypes;
}();

}  // namespace detail

// Nothing for a type plug.h has no name for.
inline std::optional<plug_dtype> to_plug_dtype(c10::ScalarType type) {
  const plug_dtype dtype = detail::kDtypes[static_cast<size_t>(type)];
  return dtype == 0 ? std::nullopt : std::optional(dtype);
}

inline std::optional<c10::ScalarType> to_scalar_type(plug_dtype dtype) {
  for (const auto& [scalar_type, named] : detail::kTypes) {
    if (named == dtype) return scalar_type;
  }
  return std::nullopt;
}

}  // namespace torchplug::base
