// What generated code calls. Functions of float32 are written so that loops of them become vectors: within 4
// units in the last place, with NaN, infinities, signed zeros and results below the normal range as libm has
// them. Those of float64, and the rare ones, are libm's.

#include <cstring>
#include <iterator>
#include <vector>

#include "emit.h"

namespace torchplug::sim::compiler {
namespace {

struct Piece {
  const char* name;  // with what follows it where it is used
  const char* text;  // uses pieces that stand before it
};

constexpr const char* kBase = R"(typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#define INLINE static inline __attribute__((always_inline))
struct Rng { uint64_t seed, offset; };
struct Args {
  char* const* in; char* const* out; char* scratch; const char* constants;
  const int64_t* s; const Rng* rng; int32_t* failed;
};
INLINE float fma_(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
INLINE double fma_(double a, double b, double c) {
#ifdef __FP_FAST_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}
INLINE int64_t x_grain(int64_t elements, int64_t each) { return each >= elements ? 1 : each < 1 ? elements : elements / each; }
)";

// Of a name that float64 and float32 share: libm's.
#define SIM_LIBM(name)                                          \
  "INLINE float x_" #name "(float x) { return __builtin_" #name \
  "f(x); }\n"                                                   \
  "INLINE double x_" #name "(double x) { return __builtin_" #name "(x); }\n"
#define SIM_LIBM_F64(name) "INLINE double x_" #name "(double x) { return __builtin_" #name "(x); }\n"

constexpr Piece kPieces[] = {
    {"checked(", R"(INLINE int64_t checked(int64_t i, int64_t n, const Args* a, int32_t check) {
  if (i >= 0 && i < n) return i;
  *(volatile int32_t*)a->failed = check;
  return 0;
}
)"},
    {"wrapped(", R"(INLINE int64_t wrapped(int64_t i, int64_t n, const Args* a, int32_t check) {
  if (i < 0) i += n;
  if (i >= 0 && i < n) return i;
  *(volatile int32_t*)a->failed = check;
  return 0;
}
)"},
    {"x_divisor(",
     R"(template <class T> INLINE T x_divisor(T n, int64_t count, const Args* a, int32_t check) {
  if (n != 0) return n;
  if (count > 0) *(volatile int32_t*)a->failed = check;
  return 1;
}
)"},
    {"bits_(", R"(INLINE uint32_t bits_(float x) { return __builtin_bit_cast(uint32_t, x); }
INLINE float float_(uint32_t x) { return __builtin_bit_cast(float, x); }
)"},
    {"of_bf16(", R"(INLINE float of_bf16(uint16_t x) { return __builtin_bit_cast(float, (uint32_t)x << 16); }
)"},
    {"to_bf16(", R"(INLINE uint16_t to_bf16(float x) {
  const uint32_t b = __builtin_bit_cast(uint32_t, x);
  const uint32_t r = (b + 0x7FFFu + (b >> 16 & 1u)) >> 16;
  return (uint16_t)(x != x ? 0x7FC0u : r);
}
)"},
    {"of_f16(", R"(INLINE float of_f16(uint16_t x) {
  const uint32_t sign = (uint32_t)(x & 0x8000u) << 16, e = (x >> 10) & 31u, f = x & 0x3FFu;
  const float small = (float)(int32_t)f * 0x1p-24f;
  const uint32_t high = 0x7F800000u | f << 13, mid = (e + 112) << 23 | f << 13;
  const uint32_t b = e == 31 ? high : e != 0 ? mid : __builtin_bit_cast(uint32_t, small);
  return __builtin_bit_cast(float, sign | b);
}
)"},
    {"to_f16(", R"(INLINE uint16_t to_f16(float x) {
  const uint32_t b = __builtin_bit_cast(uint32_t, x), sign = b >> 16 & 0x8000u, size = b & 0x7FFFFFFFu;
  const float sum = __builtin_bit_cast(float, size) + 0.5f;
  const uint32_t tiny = __builtin_bit_cast(uint32_t, sum) - 0x3F000000u;
  const uint32_t normal = ((size + 0xFFFu + (size >> 13 & 1u)) >> 13) - (112u << 10);
  const uint32_t h = size > 0x7F800000u ? 0x7E00u : size >= 0x477FF000u ? 0x7C00u : size < 0x38800000u ? tiny : normal;
  return (uint16_t)(sign | h);
}
)"},
    {"limit<", R"(template <class T> INLINE T limit(bool most) {
  const T highest = (T)((T)-1 > (T)0 ? (T)-1 : (T)(((uint64_t)1 << (8 * sizeof(T) - 1)) - 1));
  return most ? highest : (T)(highest + 1);
}
template <> bool limit<bool>(bool most) { return most; }
)"},
    // GCC takes a conversion and the one back for a truncation, which would keep the sign of -0.
    {"x_whole(", R"(INLINE int64_t x_whole(float x) { return (int64_t)(__builtin_truncf(x) + 0.0f); }
INLINE int64_t x_whole(double x) { return (int64_t)(__builtin_trunc(x) + 0.0); }
)"},
    // Of zeros with different signs the first, as PyTorch has it where its own kernels agree with each other.
    {"x_max(", "template <class T> INLINE T x_max(T a, T b) { return b > a || b != b ? b : a; }\n"},
    {"x_min(", "template <class T> INLINE T x_min(T a, T b) { return b < a || b != b ? b : a; }\n"},
    {"most_",
     R"(#pragma omp declare reduction(most_float : float : omp_out = x_max(omp_out, omp_in)) initializer(omp_priv = -__builtin_inff())
#pragma omp declare reduction(most_double : double : omp_out = x_max(omp_out, omp_in)) initializer(omp_priv = -__builtin_inf())
#pragma omp declare reduction(most_int64_t : int64_t : omp_out = x_max(omp_out, omp_in)) initializer(omp_priv = -__INT64_MAX__ - 1)
#pragma omp declare reduction(most_int32_t : int32_t : omp_out = x_max(omp_out, omp_in)) initializer(omp_priv = -__INT32_MAX__ - 1)
#pragma omp declare reduction(most_int16_t : int16_t : omp_out = x_max(omp_out, omp_in)) initializer(omp_priv = -32768)
#pragma omp declare reduction(most_int8_t : int8_t : omp_out = x_max(omp_out, omp_in)) initializer(omp_priv = -128)
#pragma omp declare reduction(most_uint8_t : uint8_t : omp_out = x_max(omp_out, omp_in)) initializer(omp_priv = 0)
#pragma omp declare reduction(most_bool : int : omp_out = omp_out | omp_in) initializer(omp_priv = 0)
)"},
    {"least_",
     R"(#pragma omp declare reduction(least_float : float : omp_out = x_min(omp_out, omp_in)) initializer(omp_priv = __builtin_inff())
#pragma omp declare reduction(least_double : double : omp_out = x_min(omp_out, omp_in)) initializer(omp_priv = __builtin_inf())
#pragma omp declare reduction(least_int64_t : int64_t : omp_out = x_min(omp_out, omp_in)) initializer(omp_priv = __INT64_MAX__)
#pragma omp declare reduction(least_int32_t : int32_t : omp_out = x_min(omp_out, omp_in)) initializer(omp_priv = __INT32_MAX__)
#pragma omp declare reduction(least_int16_t : int16_t : omp_out = x_min(omp_out, omp_in)) initializer(omp_priv = 32767)
#pragma omp declare reduction(least_int8_t : int8_t : omp_out = x_min(omp_out, omp_in)) initializer(omp_priv = 127)
#pragma omp declare reduction(least_uint8_t : uint8_t : omp_out = x_min(omp_out, omp_in)) initializer(omp_priv = 255)
#pragma omp declare reduction(least_bool : int : omp_out = omp_out & omp_in) initializer(omp_priv = 1)
)"},
    {"x_abs(", R"(INLINE float x_abs(float x) { return __builtin_fabsf(x); }
INLINE double x_abs(double x) { return __builtin_fabs(x); }
template <class T> INLINE T x_abs(T x) { return x < 0 ? -x : x; }
)"},
    {"x_sqrt(", SIM_LIBM(sqrt)},
    {"x_rsqrt(", "template <class T> INLINE T x_rsqrt(T x) { return 1 / x_sqrt(x); }\n"},
    {"x_floor(", SIM_LIBM(floor) "template <class T> INLINE T x_floor(T x) { return x; }\n"},
    {"x_ceil(", SIM_LIBM(ceil) "template <class T> INLINE T x_ceil(T x) { return x; }\n"},
    {"x_trunc(", SIM_LIBM(trunc) "template <class T> INLINE T x_trunc(T x) { return x; }\n"},
    {"x_round(", R"(INLINE float x_round(float x) { return __builtin_rintf(x); }
INLINE double x_round(double x) { return __builtin_rint(x); }
template <class T> INLINE T x_round(T x) { return x; }
)"},
    // 2^n times a polynomial of the rest; in two steps where 2^n alone may be no normal number.
    {"exp_parts_", R"(struct Exp { float p; uint32_t n; };
INLINE Exp exp_parts_(float x) {
  const float shifted = fma_(x, 1.44269504f, 12582912.0f), n = shifted - 12582912.0f;
  const float r = fma_(n, -1.42860677e-6f, fma_(n, -0.693145752f, x));
  float p = fma_(r, 1.39372167e-3f, 8.36553704e-3f);
  p = fma_(p, r, 4.16664295e-2f);
  p = fma_(p, r, 1.66665629e-1f);
  p = fma_(p, r, 0.5f);
  p = fma_(p, r, 1.0f);
  return {fma_(p, r, 1.0f), bits_(shifted)};
}
)"},
    {"x_exp(", R"(INLINE float x_exp(float x) {
  const float most = x > 88.8f ? 88.8f : x;
  const Exp e = exp_parts_(most < -104.0f ? -104.0f : most);
  const int32_t whole = (int32_t)(e.n - 0x4B400000u), half = whole >> 1;
  return e.p * float_((uint32_t)(half + 127) << 23) * float_((uint32_t)(whole - half + 127) << 23);
}
)" SIM_LIBM_F64(exp)},
    // For what is not above 0: the factors 2^(n + 63) and 2^-63 are normal numbers.
    {"x_exp_down(", R"(INLINE float x_exp_down(float x) {
  const Exp e = exp_parts_(x < -104.0f ? -104.0f : x);
  return e.p * float_((e.n + 190u) << 23) * 0x1p-63f;
}
INLINE double x_exp_down(double x) { return __builtin_exp(x); }
)"},
    {"x_expm1(", R"(INLINE float x_expm1(float x) {
  const float most = x > 88.8f ? 88.8f : x, kept = most < -20.0f ? -20.0f : most;
  const float shifted = fma_(kept, 1.44269504f, 12582912.0f), n = shifted - 12582912.0f;
  const float r = fma_(n, -1.42860677e-6f, fma_(n, -0.693145752f, kept));
  float p = fma_(r, 1.39372167e-3f, 8.36553704e-3f);
  p = fma_(p, r, 4.16664295e-2f);
  p = fma_(p, r, 1.66665629e-1f);
  p = fma_(p, r, 0.5f);
  p = fma_(p, r * r, r);
  const int32_t whole = (int32_t)(bits_(shifted) - 0x4B400000u);
  const float half = float_((uint32_t)(whole + 126) << 23);
  const float y = 2.0f * fma_(p, half, half - 0.5f);
  return x == 0.0f ? x : y;
}
)" SIM_LIBM_F64(expm1)},
    {"x_log(", R"(INLINE float x_log(float x) {
  const bool tiny = x < 0x1p-126f;
  const float scaled = tiny ? x * 0x1p32f : x;
  const uint32_t b = bits_(scaled) - 0x3F3504F3u;
  const float e = (float)((int32_t)b >> 23) - (tiny ? 32.0f : 0.0f);
  const float f = float_((b & 0x7FFFFFu) + 0x3F3504F3u) - 1.0f;
  float p = fma_(f, 0.0667344108f, -0.116457611f);
  p = fma_(p, f, 0.119051322f);
  p = fma_(p, f, -0.124114044f);
  p = fma_(p, f, 0.142178565f);
  p = fma_(p, f, -0.166676357f);
  p = fma_(p, f, 0.200022057f);
  p = fma_(p, f, -0.250000179f);
  p = fma_(p, f, 0.333333105f);
  const float z = f * f;
  const float low = fma_(e, -2.12194440e-4f, fma_(p * f, z, -0.5f * z));
  const float y = fma_(e, 0.693359375f, f + low);
  const float special = x == 0.0f ? -__builtin_inff() : x < 0.0f ? __builtin_nanf("") : x;
  return x > 0.0f && x < __builtin_inff() ? y : special;
}
)" SIM_LIBM_F64(log)},
    {"x_log1p(", R"(INLINE float x_log1p(float x) {
  const float u = 1.0f + x, y = x_log(u) + (x - (u - 1.0f)) / u;
  return x == 0.0f || x == __builtin_inff() ? x : x == -1.0f ? -__builtin_inff() : y;
}
)" SIM_LIBM_F64(log1p)},
    {"x_tanh(", R"(INLINE float x_tanh(float x) {
  const float size = __builtin_fabsf(x), z = x * x;
  float p = fma_(z, 2.07080995e-3f, -8.09995923e-3f);
  p = fma_(p, z, 2.16702558e-2f);
  p = fma_(p, z, -5.39414436e-2f);
  p = fma_(p, z, 1.33331671e-1f);
  p = fma_(p, z, -3.33333313e-1f);
  const float near = fma_(p * z, size, size);
  const float e = x_exp_down(-2.0f * size), far = (1.0f - e) / (1.0f + e);
  return __builtin_copysignf(size < 0.625f ? near : far, x);
}
)" SIM_LIBM_F64(tanh)},
    {"x_erf(", R"(INLINE float x_erf(float x) {
  const float size = __builtin_fabsf(x), z = x * x, t = size > 4.1f ? 4.1f : size;
  float p = fma_(z, 8.18526023e-5f, -8.09775258e-4f);
  p = fma_(p, z, 5.19695785e-3f);
  p = fma_(p, z, -2.68577076e-2f);
  p = fma_(p, z, 1.12836644e-1f);
  p = fma_(p, z, -3.76126319e-1f);
  const float near = fma_(fma_(p, z, 0.128379226f), size, size);
  float q = fma_(t, -6.62505727e-7f, -1.23339141e-5f);
  q = fma_(q, t, 3.84807034e-4f);
  q = fma_(q, t, -4.01346246e-3f);
  q = fma_(q, t, 2.48129182e-2f);
  q = fma_(q, t, -1.07905850e-1f);
  q = fma_(q, t, -6.33627236e-1f);
  q = fma_(q, t, -1.12939715f);
  q = fma_(q, t, 1.53389759e-4f);
  const float far = 1.0f - x_exp_down(q);
  return __builtin_copysignf(size < 0.95f ? near : far, x);
}
)" SIM_LIBM_F64(erf)},
    {"x_sigmoid(", R"(INLINE float x_sigmoid(float x) {
  const float e = x_exp_down(-__builtin_fabsf(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
INLINE double x_sigmoid(double x) {
  const double e = x_exp_down(-__builtin_fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
)"},
    {"x_silu(", "template <class T> INLINE T x_silu(T x) { return x / (1 + x_exp(-x)); }\n"},
    {"x_silu_slope(", R"(template <class T> INLINE T x_silu_slope(T x) {
  const T y = x_sigmoid(x);
  return y * (1 + x * (1 - y));
}
)"},
    // x times what a normal number is below -|x|, which is exp(-x x / 2) q(|x|), subtracted from x above 0:
    // with the digits that 1 + erf(x) has lost. Below -16 it is 0, and NaN of minus infinity, as PyTorch's
    // formula has it.
    {"x_gelu(", R"(INLINE float x_gelu(float x) {
  const float low = x < -16.0f ? -16.0f : x, kept = low > 16.0f ? 16.0f : low, size = __builtin_fabsf(kept);
  const float t = 1.0f / (size + 2.0f), u = (size - 2.0f) * t;
  float q = fma_(u, -8.4395775e-05f, 1.94697095e-05f);
  q = fma_(q, u, 0.000732022687f);
  q = fma_(q, u, 0.000898370519f);
  q = fma_(q, u, -0.0018926356f);
  q = fma_(q, u, -0.00675751269f);
  q = fma_(q, u, -0.00048318287f);
  q = fma_(q, u, 0.0367225222f);
  q = fma_(q, u, 0.0287984181f);
  q = fma_(q, u, -0.331404597f);
  q = fma_(q, u, 0.672407985f);
  const float square = size * size, rest = fma_(size, size, -square), power = -0.5f * square;
  const float shifted = fma_(power, 1.44269504f, 12582912.0f), n = shifted - 12582912.0f;
  const float r = fma_(rest, -0.5f, fma_(n, -1.42860677e-6f, fma_(n, -0.693145752f, power)));
  float p = fma_(r, 1.39372167e-3f, 8.36553704e-3f);
  p = fma_(p, r, 4.16664295e-2f);
  p = fma_(p, r, 1.66665629e-1f);
  p = fma_(p, r, 0.5f);
  p = fma_(p, r * r, r);
  const float v = kept * (q * t);
  const float y = fma_(v, p, v) * float_((bits_(shifted) + 190u) << 23) * 0x1p-63f;
  return x < -16.0f ? x * 0.0f : x > 0.0f ? x - y : y;
}
INLINE double x_gelu(double x) { return x * 0.5 * __builtin_erfc(x * -0.70710678118654752440); }
)"},
    {"x_gelu_slope(", R"(template <class T> INLINE T x_gelu_slope(T x) {
  const T cdf = (T)0.5 * (1 + x_erf(x * (T)0.70710678118654752440));
  return cdf + x * x_exp_down(x * x * (T)-0.5) * (T)0.39894228040143267794;
}
)"},
    {"x_gelu_tanh(", R"(template <class T> INLINE T x_gelu_tanh(T x) {
  const T inner = (T)0.79788456080286535588 * (x + (T)0.044715 * x * x * x);
  return (T)0.5 * x * (1 + x_tanh(inner));
}
)"},
    {"x_gelu_tanh_slope(", R"(template <class T> INLINE T x_gelu_tanh_slope(T x) {
  const T k = (T)0.79788456080286535588, z = x * x, t = x_tanh(k * (x + (T)0.044715 * z * x));
  return (T)0.5 * (1 + t) + (T)0.5 * x * (1 - t * t) * k * (1 + (T)(3 * 0.044715) * z);
}
)"},
    {"x_lerp(", R"(template <class T> INLINE T x_lerp(T a, T b, T w) {
  return x_abs(w) < (T)0.5 ? a + w * (b - a) : b - (b - a) * (1 - w);
}
)"},
    // Whole numbers are divided by an x_divisor, or by a number that is not 0.
    {"x_fmod(", R"(INLINE float x_fmod(float a, float b) { return __builtin_fmodf(a, b); }
INLINE double x_fmod(double a, double b) { return __builtin_fmod(a, b); }
template <class T> INLINE T x_fmod(T a, T b) { return b == (T)-1 ? (T)0 : (T)(a % b); }
)"},
    {"x_remainder(", R"(template <class T> INLINE T x_remainder(T a, T b) {
  const T m = x_fmod(a, b);
  return m != 0 && (b < 0) != (m < 0) ? (T)(m + b) : m;
}
)"},
    {"x_trunc_divide(", R"(INLINE float x_trunc_divide(float a, float b) { return __builtin_truncf(a / b); }
INLINE double x_trunc_divide(double a, double b) { return __builtin_trunc(a / b); }
template <class T> INLINE T x_trunc_divide(T a, T b) { return b == (T)-1 ? (T)(0 - (uint64_t)a) : (T)(a / b); }
)"},
    {"x_floor_divide(", R"(template <class T> INLINE T floor_divide_real(T a, T b) {
  const T m = x_fmod(a, b), exact = a / b;
  T d = (a - m) / b;
  d = m != 0 && (b < 0) != (m < 0) ? d - 1 : d;
  const T f = __builtin_floor(d);
  const T whole = d - f > (T)0.5 ? f + 1 : f;
  return b == 0 ? exact : d != 0 ? whole : (T)__builtin_copysign(0.0, exact);
}
INLINE float x_floor_divide(float a, float b) { return floor_divide_real(a, b); }
INLINE double x_floor_divide(double a, double b) { return floor_divide_real(a, b); }
template <class T> INLINE T x_floor_divide(T a, T b) {
  if (b == (T)-1) return (T)(0 - (uint64_t)a);
  const T q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? (T)(q - 1) : q;
}
)"},
    {"x_pow(", R"(INLINE float x_pow(float a, float b) { return __builtin_powf(a, b); }
INLINE double x_pow(double a, double b) { return __builtin_pow(a, b); }
template <class T> INLINE T x_pow(T a, T b) {
  if (b < 0) return a == 1 ? 1 : a == (T)-1 ? (b % 2 == 0 ? 1 : (T)-1) : 0;
  T r = 1;
  for (; b != 0; b = (T)(b / 2), a = (T)(a * a)) r = b % 2 != 0 ? (T)(r * a) : r;
  return r;
}
)"},
    {"x_atan2(", R"(INLINE float x_atan2(float a, float b) { return __builtin_atan2f(a, b); }
INLINE double x_atan2(double a, double b) { return __builtin_atan2(a, b); }
)"},
    // Blocks of 4 rows and 4 vectors, which stay in registers; the 64 columns of b lie packed in `panel`.
    {"product_<", R"(#if defined(__clang__)
#define FUSED
#pragma clang fp contract(fast)
#else
#define FUSED __attribute__((optimize("fp-contract=fast")))
#endif
#ifdef __AVX512F__
enum { kVector = 64 };
#elif defined(__AVX__)
enum { kVector = 32 };
#else
enum { kVector = 16 };
#endif
template <class T> struct Vector { typedef T type __attribute__((vector_size(kVector), aligned(sizeof(T)))); };
template <class T, int R> FUSED static void tile_(const T* a, int64_t am, int64_t ak, const T* panel, T* c, int64_t cm,
                                                  int64_t cn, int64_t k, int64_t width) {
  typedef typename Vector<T>::type V;
  const int lanes = kVector / sizeof(T);
  for (int64_t from = 0; from < width; from += 4 * lanes) {
    V sums[R][4] = {};
    for (int64_t i = 0; i < k; ++i) {
      const V* const b = (const V*)(panel + i * 64 + from);
      const V b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const V x = a[r * am + i * ak] - V{};
        sums[r][0] += x * b0;
        sums[r][1] += x * b1;
        sums[r][2] += x * b2;
        sums[r][3] += x * b3;
      }
    }
    const int64_t count = width - from < 4 * lanes ? width - from : 4 * lanes;
    for (int r = 0; r < R; ++r)
      for (int64_t j = 0; j < count; ++j) c[r * cm + (from + j) * cn] = sums[r][j / lanes][j % lanes];
  }
}
template <class T> static void product_(const T* a, int64_t am, int64_t ak, const T* b, int64_t bk, int64_t bn, T* c,
                                        int64_t cm, int64_t cn, int64_t m, int64_t k, int64_t width, T* panel) {
  for (int64_t i = 0; i < k && width < 64; ++i)
    for (int64_t j = width; j < 64; ++j) panel[i * 64 + j] = 0;
  if (bn == 1)
    for (int64_t i = 0; i < k; ++i) __builtin_memcpy(panel + i * 64, b + i * bk, width * sizeof(T));
  else
    for (int64_t i = 0; i < k; i += 16)
      for (int64_t j = 0; j < width; ++j)
        for (int64_t l = i; l < k && l < i + 16; ++l) panel[l * 64 + j] = b[l * bk + j * bn];
  int64_t r = 0;
  for (; r + 4 <= m; r += 4) tile_<T, 4>(a + r * am, am, ak, panel, c + r * cm, cm, cn, k, width);
  for (; r < m; ++r) tile_<T, 1>(a + r * am, am, ak, panel, c + r * cm, cm, cn, k, width);
}
)"},
    {"x_exp2(", SIM_LIBM(exp2)},
    {"x_log2(", SIM_LIBM(log2)},
    {"x_log10(", SIM_LIBM(log10)},
    {"x_erfc(", SIM_LIBM(erfc)},
    {"x_sin(", SIM_LIBM(sin)},
    {"x_cos(", SIM_LIBM(cos)},
    {"x_tan(", SIM_LIBM(tan)},
    {"x_asin(", SIM_LIBM(asin)},
    {"x_acos(", SIM_LIBM(acos)},
    {"x_atan(", SIM_LIBM(atan)},
    {"x_asinh(", SIM_LIBM(asinh)},
    {"x_acosh(", SIM_LIBM(acosh)},
    {"x_atanh(", SIM_LIBM(atanh)},
    {"x_sinh(", SIM_LIBM(sinh)},
    {"x_cosh(", SIM_LIBM(cosh)},
    // The numbers of philox.h: 64 at a time, the four of each of 16 blocks.
    {"draw_", R"(INLINE void philox_(Rng rng, int64_t group, uint32_t (*words)[16]) {
  for (int i = 0; i < 16; ++i) {
    const uint64_t first = rng.offset / 4 + (uint64_t)group * 16 + (uint64_t)i;
    uint32_t a = (uint32_t)first, b = (uint32_t)(first >> 32), c = 0, d = 0;
    uint32_t key = (uint32_t)rng.seed, other = (uint32_t)(rng.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t left = (uint64_t)a * 0xD2511F53u, right = (uint64_t)c * 0xCD9E8D57u;
      a = (uint32_t)(right >> 32) ^ b ^ key;
      c = (uint32_t)(left >> 32) ^ d ^ other;
      b = (uint32_t)right;
      d = (uint32_t)left;
      key += 0x9E3779B9u;
      other += 0xBB67AE85u;
    }
    words[0][i] = a, words[1][i] = b, words[2][i] = c, words[3][i] = d;
  }
}
INLINE void draw_f32(Rng rng, int64_t group, float* to) {
  uint32_t words[4][16];
  philox_(rng, group, words);
  for (int w = 0; w < 4; ++w)
    for (int i = 0; i < 16; ++i) to[16 * w + i] = (float)(int32_t)(words[w][i] >> 8) * 0x1p-24f;
}
INLINE void draw_f64(Rng rng, int64_t group, double* to) {
  uint32_t words[4][16];
  philox_(rng, group, words);
  for (int w = 0; w < 4; w += 2)
    for (int i = 0; i < 16; ++i)
      to[8 * w + i] = (double)(int64_t)((uint64_t)words[w][i] << 21 | words[w + 1][i] >> 11) * 0x1p-53;
}
)"},
};

}  // namespace

std::string prelude_for(const std::string& code) {
  std::vector<const Piece*> needed;
  std::string used = code;
  for (std::size_t i = std::size(kPieces); i-- > 0;) {
    const Piece& piece = kPieces[i];
    if (used.find(piece.name) == std::string::npos) continue;
    needed.push_back(&piece);
    used += piece.text;
  }
  std::string text = kBase;
  for (std::size_t i = needed.size(); i-- > 0;) text += needed[i]->text;
  return text + "\n";
}

}  // namespace torchplug::sim::compiler
