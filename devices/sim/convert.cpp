#include "convert.h"

#include <cstring>
#include <type_traits>

#include "half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace torchplug::sim {
namespace {

struct Bool {
  std::uint8_t value;
};

template <class Real>
struct Complex {
  Real real;
  Real imag;
};

template <class T>
constexpr bool kIsComplex = false;
template <class Real>
constexpr bool kIsComplex<Complex<Real>> = true;

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// What C can calculate with.
template <class T>
auto number(T value) {
  if constexpr (kIsHalf<T>) {
    return to_float(value);
  } else if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<std::uint8_t>(value.value != 0);
  } else {
    return value;
  }
}

template <class To, class From>
To convert(From from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (kIsComplex<To> && kIsComplex<From>) {
    return {convert<decltype(To::real)>(from.real), convert<decltype(To::real)>(from.imag)};
  } else if constexpr (kIsComplex<To>) {
    return {convert<decltype(To::real)>(from), convert<decltype(To::real)>(std::uint8_t{0})};
  } else if constexpr (kIsComplex<From> && std::is_same_v<To, Bool>) {
    return {static_cast<std::uint8_t>(number(from.real) != 0 || number(from.imag) != 0)};
  } else if constexpr (kIsComplex<From>) {
    return convert<To>(from.real);
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<std::uint8_t>(number(from) != 0)};
  } else if constexpr (kIsHalf<To>) {
    return from_float<To>(static_cast<float>(number(from)));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<decltype(number(from))> &&
                       sizeof(To) < sizeof(std::int64_t)) {
    // What does not fit wraps around, as it does where PyTorch converts.
    return static_cast<To>(static_cast<std::int64_t>(number(from)));
  } else {
    return static_cast<To>(number(from));
  }
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class To, class From>
void convert_row(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
                 std::int64_t count) noexcept {
  const auto one = [](std::byte* place, const std::byte* at) {
    const To value = convert<To>(load<From>(at));
    std::memcpy(place, &value, sizeof value);
  };
  if (to_stride == sizeof(To) && from_stride == sizeof(From)) {  // constants, so that vectors can be used
    for (std::int64_t i = 0; i < count; ++i) {
      one(to + i * std::int64_t{sizeof(To)}, from + i * std::int64_t{sizeof(From)});
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) one(to + i * to_stride, from + i * from_stride);
}

#if defined(__x86_64__)

constexpr std::int64_t kVector = 8;  // floats

bool has_wide_vectors() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
}

[[gnu::target("avx2,f16c")]] __m256 widen(__m128i row, Float16 /*type*/) { return _mm256_cvtph_ps(row); }
[[gnu::target("avx2,f16c")]] __m256 widen(__m128i row, BFloat16 /*type*/) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(row), 16));
}

[[gnu::target("avx2,f16c")]] __m128i narrow(__m256 row, Float16 /*type*/) {
  return _mm256_cvtps_ph(row, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
[[gnu::target("avx2,f16c")]] __m128i narrow(__m256 row, BFloat16 /*type*/) {
  const __m256i bits = _mm256_castps_si256(row);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounding = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, rounding), 16);
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(row, row, _CMP_UNORD_Q));
  const __m256i result = _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7FC0), is_nan);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(result, result), 0b1000);
  return _mm256_castsi256_si128(packed);
}

template <class Half>
[[gnu::target("avx2,f16c")]] std::int64_t widen_row(float* to, const Half* from, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kVector <= count; i += kVector) {
    const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, widen(row, Half{}));
  }
  return i;
}

template <class Half>
[[gnu::target("avx2,f16c")]] std::int64_t narrow_row(Half* to, const float* from, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kVector <= count; i += kVector) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), narrow(_mm256_loadu_ps(from + i), Half{}));
  }
  return i;
}

#endif

// The commonest: what mixed precision does all the time.
template <class To, class From>
void convert_half_row(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
                      std::int64_t count) noexcept {
  std::int64_t done = 0;
#if defined(__x86_64__)
  if (to_stride == sizeof(To) && from_stride == sizeof(From) && has_wide_vectors()) {
    if constexpr (kIsHalf<To>) {
      done = narrow_row(reinterpret_cast<To*>(to), reinterpret_cast<const float*>(from), count);
    } else {
      done = widen_row(reinterpret_cast<float*>(to), reinterpret_cast<const From*>(from), count);
    }
  }
#endif
  convert_row<To, From>(to + done * to_stride, to_stride, from + done * from_stride, from_stride,
                        count - done);
}

// Calls body.operator()<T>() for the type; gives null for one that is not known.
template <class Body>
auto for_type(plug_dtype dtype, const Body& body) -> decltype(body.template operator()<float>()) {
  switch (dtype) {
    case PLUG_I8: return body.template operator()<std::int8_t>();
    case PLUG_I16: return body.template operator()<std::int16_t>();
    case PLUG_I32: return body.template operator()<std::int32_t>();
    case PLUG_I64: return body.template operator()<std::int64_t>();
    case PLUG_U8: return body.template operator()<std::uint8_t>();
    case PLUG_U16: return body.template operator()<std::uint16_t>();
    case PLUG_U32: return body.template operator()<std::uint32_t>();
    case PLUG_U64: return body.template operator()<std::uint64_t>();
    case PLUG_F16: return body.template operator()<Float16>();
    case PLUG_BF16: return body.template operator()<BFloat16>();
    case PLUG_F32: return body.template operator()<float>();
    case PLUG_F64: return body.template operator()<double>();
    case PLUG_C32: return body.template operator()<Complex<Float16>>();
    case PLUG_C64: return body.template operator()<Complex<float>>();
    case PLUG_C128: return body.template operator()<Complex<double>>();
    case PLUG_BOOL: return body.template operator()<Bool>();
    default: return nullptr;
  }
}

template <class T>
T negative(T value) {
  if constexpr (kIsComplex<T>) {
    return {negative(value.real), negative(value.imag)};
  } else if constexpr (std::is_same_v<T, Bool>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(value));
  } else {
    return convert<T>(-number(value));
  }
}

template <class T>
void apply_bits(std::byte* row, std::int64_t count, std::uint32_t flags) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* const place = row + i * std::int64_t{sizeof(T)};
    T value = load<T>(place);
    if constexpr (kIsComplex<T>) {
      if ((flags & PLUG_TENSOR_CONJ) != 0) value.imag = negative(value.imag);
    }
    if ((flags & PLUG_TENSOR_NEG) != 0) value = negative(value);
    std::memcpy(place, &value, sizeof value);
  }
}

}  // namespace

ConvertRow find_conversion(plug_dtype to, plug_dtype from) {
  return for_type(to, [from]<class To>() -> ConvertRow {
    return for_type(from, []<class From>() -> ConvertRow {
      constexpr bool is_common =
          (kIsHalf<To> && std::is_same_v<From, float>) || (kIsHalf<From> && std::is_same_v<To, float>);
      if constexpr (is_common) return convert_half_row<To, From>;
      return convert_row<To, From>;
    });
  });
}

ApplyBits find_lazy_bits(plug_dtype dtype) {
  return for_type(dtype, []<class T>() -> ApplyBits { return apply_bits<T>; });
}

}  // namespace torchplug::sim
