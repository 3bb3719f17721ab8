#include "aten/kernel/host_number.h"

#include <ATen/Dispatch_v2.h>
#include <c10/util/TypeCast.h>
#include <c10/util/complex.h>

#include <cstring>

#include "base/dtype.h"

namespace torchplug::aten {
namespace {

template <class T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(T value, NumberRoom& room) {
  std::memcpy(room.bytes.data(), &value, sizeof value);
}

// `Wide`: holds every value of the number's own dtype.
template <class Wide>
void convert_to(Wide value, at::ScalarType type, NumberRoom& room) {
  AT_DISPATCH_V2(type, "convert_number", AT_WRAP([&] { store(c10::convert<scalar_t>(value), room); }),
                 AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), at::kComplexHalf, at::kHalf, at::kBool, at::kBFloat16,
                 AT_EXPAND(AT_FLOAT8_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES));
}

// A type that holds every value of T.
template <class T>
auto widened_number(T value) {
  if constexpr (c10::is_complex<T>::value) {
    return c10::convert<c10::complex<double>>(value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else {
    return static_cast<double>(value);
  }
}

void convert(const void* from, at::ScalarType type, at::ScalarType to, NumberRoom& room) {
  AT_DISPATCH_V2(type, "convert_number",
                 AT_WRAP([&] { convert_to(widened_number(load<scalar_t>(from)), to, room); }),
                 AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), at::kComplexHalf, at::kHalf, at::kBool, at::kBFloat16,
                 AT_EXPAND(AT_FLOAT8_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES));
}

}  // namespace

void convert_number(plug_tensor& number, plug_dtype dtype, NumberRoom& room) {
  if (number.mem.device != PLUG_HOST || number.dtype == dtype || number.mem.base == nullptr) return;
  const char* from = static_cast<const char*>(number.mem.base) + number.mem.offset;
  if (number.dtype == PLUG_F64 && dtype == PLUG_F32) {
    store(static_cast<float>(load<double>(from)), room);
  } else if (number.dtype == PLUG_I64 && dtype == PLUG_F32) {
    store(static_cast<float>(load<int64_t>(from)), room);
  } else {
    const auto type = to_scalar_type(number.dtype);
    const auto to = to_scalar_type(dtype);
    if (!type || !to) return;
    convert(from, *type, *to, room);
  }
  number.mem = {room.bytes.data(), 0, PLUG_HOST, 0};
  number.dtype = dtype;
}

}  // namespace torchplug::aten
