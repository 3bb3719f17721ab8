/* plug_element.h - elements of every plain dtype, read and written as double, int64 and
** complex numbers: a part of plug_util.h. Rounding and overflow are PyTorch's: what is
** narrower than float32 is rounded from float32, to the nearest, ties to even. */
#ifndef TORCHPLUG_PLUG_ELEMENT_H
#define TORCHPLUG_PLUG_ELEMENT_H

#include <string.h>

#include "torchplug/plug.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------- floats of 16 bits and fewer --------------------- */

static inline float plug_float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t plug_bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline double plug_power_of_two(int32_t exponent) {
  const uint64_t bits = (uint64_t)(1023 + exponent) << 52;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline float plug_float_of_bf16(uint16_t bits) {
  return plug_float_of_bits((uint32_t)bits << 16);
}

static inline float plug_float_of_f16(uint16_t bits) {
  const uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 0) {
    const float value = (float)mantissa * (1.0f / 16777216.0f);
    return sign ? -value : value;
  }
  if (exponent == 31) return plug_float_of_bits(sign | 0x7f800000u | mantissa << 13);
  return plug_float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

/* How the codes of a small float end. */
enum {
  PLUG_SMALL_IEEE = 0, /* infinities, then NaN */
  PLUG_SMALL_FN = 1,   /* no infinity; the last code is NaN, and what is larger than the
                       ** largest becomes that, as from PyTorch 2.13 on */
  PLUG_SMALL_FNUZ = 2  /* no infinity, no -0: its code is NaN */
};
typedef struct plug_small_float {
  int32_t exponent_bits, mantissa_bits, bias, ends;
} plug_small_float;

/* Of a dtype whose float is small; exponent_bits is 0 for others. */
static inline plug_small_float plug_small_float_of(plug_dtype dtype) {
  static const plug_small_float none = {0, 0, 0, 0};
  static const plug_small_float f16 = {5, 10, 15, PLUG_SMALL_IEEE};
  static const plug_small_float bf16 = {8, 7, 127, PLUG_SMALL_IEEE};
  static const plug_small_float e4m3fn = {4, 3, 7, PLUG_SMALL_FN};
  static const plug_small_float e4m3fnuz = {4, 3, 8, PLUG_SMALL_FNUZ};
  static const plug_small_float e5m2 = {5, 2, 15, PLUG_SMALL_IEEE};
  static const plug_small_float e5m2fnuz = {5, 2, 16, PLUG_SMALL_FNUZ};
  switch (dtype) {
    case PLUG_F16:
      return f16;
    case PLUG_BF16:
      return bf16;
    case PLUG_F8_E4M3FN:
      return e4m3fn;
    case PLUG_F8_E4M3FNUZ:
      return e4m3fnuz;
    case PLUG_F8_E5M2:
      return e5m2;
    case PLUG_F8_E5M2FNUZ:
      return e5m2fnuz;
    default:
      return none;
  }
}

static inline float plug_float_of_small(uint32_t bits, plug_small_float form) {
  const int32_t width = form.exponent_bits + form.mantissa_bits;
  const uint32_t largest = (1u << form.exponent_bits) - 1;
  const uint32_t exponent = bits >> form.mantissa_bits & largest;
  const uint32_t mantissa = bits & ((1u << form.mantissa_bits) - 1);
  const int is_negative = (int)(bits >> width & 1);
  const float nan = plug_float_of_bits(0x7fc00000u);
  if (form.ends == PLUG_SMALL_FNUZ && bits == 1u << width) return nan;
  if (form.ends == PLUG_SMALL_FN && (bits & ((1u << width) - 1)) == (1u << width) - 1)
    return nan;
  if (form.ends == PLUG_SMALL_IEEE && exponent == largest) {
    if (mantissa != 0) return nan;
    return plug_float_of_bits((uint32_t)is_negative << 31 | 0x7f800000u);
  }
  const int32_t power =
      (exponent == 0 ? 1 : (int32_t)exponent) - form.bias - form.mantissa_bits;
  const uint32_t digits = exponent == 0 ? mantissa : mantissa | 1u << form.mantissa_bits;
  const double value = (double)digits * plug_power_of_two(power);
  return (float)(is_negative ? -value : value);
}

/* digits / 2^shift, to the nearest, ties to even. */
static inline uint32_t plug_round_shift(uint32_t digits, int32_t shift) {
  if (shift > 25) return 0;
  const uint32_t half = 1u << (shift - 1), rest = digits & ((1u << shift) - 1);
  const uint32_t whole = digits >> shift;
  return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
}

static inline uint32_t plug_small_of_float(float value, plug_small_float form) {
  const uint32_t bits = plug_bits_of_float(value), size = bits & 0x7fffffffu;
  const int32_t width = form.exponent_bits + form.mantissa_bits;
  const uint32_t sign = bits >> 31 << width;
  const uint32_t infinity = ((1u << form.exponent_bits) - 1) << form.mantissa_bits;
  const uint32_t last = (1u << width) - 2; /* before the one NaN */
  const uint32_t nan = form.ends == PLUG_SMALL_FNUZ ? 1u << width
                       : form.ends == PLUG_SMALL_FN
                           ? sign | ((1u << width) - 1)
                           : sign | infinity | 1u << (form.mantissa_bits - 1);
  if (size > 0x7f800000u || (size == 0x7f800000u && form.ends == PLUG_SMALL_FNUZ))
    return nan;
  const int32_t exponent = size >> 23 == 0 ? -126 : (int32_t)(size >> 23) - 127;
  const uint32_t digits = size >> 23 == 0 ? size : (size & 0x7fffffu) | 0x800000u;
  const int32_t above = exponent - (1 - form.bias); /* the smallest normal number's */
  const int32_t shift = 23 - form.mantissa_bits + (above < 0 ? -above : 0);
  uint32_t code = plug_round_shift(digits, shift);
  if (above > 0) code += (uint32_t)above << form.mantissa_bits; /* carries included */
  if (form.ends == PLUG_SMALL_IEEE) return sign | (code < infinity ? code : infinity);
  if (form.ends == PLUG_SMALL_FN) return sign | (code < last ? code : last);
  if (code == 0) return 0;
  return code < 1u << width ? sign | code : nan;
}

static inline uint16_t plug_f16_of_float(float value) {
  return (uint16_t)plug_small_of_float(value, plug_small_float_of(PLUG_F16));
}

static inline uint16_t plug_bf16_of_float(float value) {
  return (uint16_t)plug_small_of_float(value, plug_small_float_of(PLUG_BF16));
}

/* Powers of two alone, from 2^-127; the sign is lost. */
static inline float plug_float_of_e8m0(uint8_t bits) {
  if (bits == 255) return plug_float_of_bits(0x7fc00000u);
  return plug_float_of_bits(bits == 0 ? 0x00400000u : (uint32_t)bits << 23);
}

static inline uint8_t plug_e8m0_of_float(float value) {
  const uint32_t bits = plug_bits_of_float(value) & 0x7fffffffu;
  const uint32_t exponent = bits >> 23, rest = bits & 0x7fffffu;
  if (exponent == 255) return 255;
  return (uint8_t)(exponent +
                   (rest > 0x400000u || (rest == 0x400000u && exponent > 0) ? 1 : 0));
}

/* ------------------------------- dtypes ---------------------------------- */

static inline int plug_is_complex(plug_dtype dtype) {
  return dtype == PLUG_C32 || dtype == PLUG_C64 || dtype == PLUG_C128;
}

/* Floating point, and not complex. */
static inline int plug_is_real(plug_dtype dtype) {
  return dtype == PLUG_F32 || dtype == PLUG_F64 || dtype == PLUG_F8_E8M0FNU ||
         plug_small_float_of(dtype).exponent_bits != 0;
}

/* Integers, bool among them. */
static inline int plug_is_integral(plug_dtype dtype) {
  switch (dtype) {
    case PLUG_I8:
    case PLUG_I16:
    case PLUG_I32:
    case PLUG_I64:
    case PLUG_U8:
    case PLUG_U16:
    case PLUG_U32:
    case PLUG_U64:
    case PLUG_BOOL:
      return 1;
    default:
      return 0;
  }
}

/* Whether an element is one number, or one complex number, that the functions below know:
** all dtypes of plug.h but the quantized ones and PLUG_F4_E2M1FN_X2. */
static inline int plug_is_plain(plug_dtype dtype) {
  return plug_is_integral(dtype) || plug_is_real(dtype) || plug_is_complex(dtype);
}

/* The whole part; the nearest int64 if it has none, 0 for NaN. */
static inline int64_t plug_whole(double value) {
  if (value != value) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  if (value < -9223372036854775808.0) return INT64_MIN;
  return (int64_t)value;
}

/* ------------------------ one element, and runs of them ------------------ */

/* Elements of a plain dtype, `stride` bytes apart, as doubles: of a complex number the
** real part. */
static inline void plug_load_run(double *to, const void *from, plug_dtype dtype,
                                 int64_t stride, int64_t n) {
  const char *p = (const char *)from;
#define PLUG_LOAD(dtype_, value_)                                          \
  case dtype_:                                                             \
    for (int64_t i = 0; i < n; i++, p += stride) to[i] = (double)(value_); \
    return
  switch (dtype) {
    PLUG_LOAD(PLUG_F32, *(const float *)p);
    PLUG_LOAD(PLUG_F64, *(const double *)p);
    PLUG_LOAD(PLUG_F16, plug_float_of_f16(*(const uint16_t *)p));
    PLUG_LOAD(PLUG_BF16, plug_float_of_bf16(*(const uint16_t *)p));
    PLUG_LOAD(PLUG_I8, *(const int8_t *)p);
    PLUG_LOAD(PLUG_I16, *(const int16_t *)p);
    PLUG_LOAD(PLUG_I32, *(const int32_t *)p);
    PLUG_LOAD(PLUG_I64, *(const int64_t *)p);
    PLUG_LOAD(PLUG_U8, *(const uint8_t *)p);
    PLUG_LOAD(PLUG_U16, *(const uint16_t *)p);
    PLUG_LOAD(PLUG_U32, *(const uint32_t *)p);
    PLUG_LOAD(PLUG_U64, *(const uint64_t *)p);
    PLUG_LOAD(PLUG_BOOL, *(const uint8_t *)p != 0);
    PLUG_LOAD(PLUG_C32, plug_float_of_f16(*(const uint16_t *)p));
    PLUG_LOAD(PLUG_C64, *(const float *)p);
    PLUG_LOAD(PLUG_C128, *(const double *)p);
    PLUG_LOAD(PLUG_F8_E8M0FNU, plug_float_of_e8m0(*(const uint8_t *)p));
    PLUG_LOAD(PLUG_F8_E4M3FN,
              plug_float_of_small(*(const uint8_t *)p, plug_small_float_of(dtype)));
    PLUG_LOAD(PLUG_F8_E4M3FNUZ,
              plug_float_of_small(*(const uint8_t *)p, plug_small_float_of(dtype)));
    PLUG_LOAD(PLUG_F8_E5M2,
              plug_float_of_small(*(const uint8_t *)p, plug_small_float_of(dtype)));
    PLUG_LOAD(PLUG_F8_E5M2FNUZ,
              plug_float_of_small(*(const uint8_t *)p, plug_small_float_of(dtype)));
    default:
      return;
  }
#undef PLUG_LOAD
}

/* The same as int64, of integers exactly: a uint64 above INT64_MAX keeps its bits. Of
** other numbers the whole part. */
static inline void plug_load_int_run(int64_t *to, const void *from, plug_dtype dtype,
                                     int64_t stride, int64_t n) {
  const char *p = (const char *)from;
  double value = 0;
#define PLUG_LOAD(dtype_, value_)                                           \
  case dtype_:                                                              \
    for (int64_t i = 0; i < n; i++, p += stride) to[i] = (int64_t)(value_); \
    return
  switch (dtype) {
    PLUG_LOAD(PLUG_I8, *(const int8_t *)p);
    PLUG_LOAD(PLUG_I16, *(const int16_t *)p);
    PLUG_LOAD(PLUG_I32, *(const int32_t *)p);
    PLUG_LOAD(PLUG_I64, *(const int64_t *)p);
    PLUG_LOAD(PLUG_U8, *(const uint8_t *)p);
    PLUG_LOAD(PLUG_U16, *(const uint16_t *)p);
    PLUG_LOAD(PLUG_U32, *(const uint32_t *)p);
    PLUG_LOAD(PLUG_U64, *(const uint64_t *)p);
    PLUG_LOAD(PLUG_BOOL, *(const uint8_t *)p != 0);
    default:
      for (int64_t i = 0; i < n; i++, p += stride) {
        plug_load_run(&value, p, dtype, 0, 1);
        to[i] = plug_whole(value);
      }
  }
#undef PLUG_LOAD
}

/* Writes doubles as elements: to a complex number with imaginary part 0, to an integer
** the whole part, wrapped. */
static inline void plug_store_run(void *to, plug_dtype dtype, int64_t stride,
                                  const double *from, int64_t n) {
  char *p = (char *)to;
#define PLUG_STORE(dtype_, type_, value_)                                       \
  case dtype_:                                                                  \
    for (int64_t i = 0; i < n; i++, p += stride) *(type_ *)p = (type_)(value_); \
    return
#define PLUG_STORE_COMPLEX(dtype_, type_, value_)  \
  case dtype_:                                     \
    for (int64_t i = 0; i < n; i++, p += stride) { \
      ((type_ *)p)[0] = (type_)(value_);           \
      ((type_ *)p)[1] = 0;                         \
    }                                              \
    return
#define PLUG_SMALL(value_) \
  plug_small_of_float((float)(value_), plug_small_float_of(dtype))
  switch (dtype) {
    PLUG_STORE(PLUG_F32, float, from[i]);
    PLUG_STORE(PLUG_F64, double, from[i]);
    PLUG_STORE(PLUG_F16, uint16_t, PLUG_SMALL(from[i]));
    PLUG_STORE(PLUG_BF16, uint16_t, PLUG_SMALL(from[i]));
    PLUG_STORE(PLUG_I8, int8_t, plug_whole(from[i]));
    PLUG_STORE(PLUG_I16, int16_t, plug_whole(from[i]));
    PLUG_STORE(PLUG_I32, int32_t, plug_whole(from[i]));
    PLUG_STORE(PLUG_I64, int64_t, plug_whole(from[i]));
    PLUG_STORE(PLUG_U8, uint8_t, plug_whole(from[i]));
    PLUG_STORE(PLUG_U16, uint16_t, plug_whole(from[i]));
    PLUG_STORE(PLUG_U32, uint32_t, plug_whole(from[i]));
    PLUG_STORE(PLUG_U64, uint64_t,
               from[i] < 9223372036854775808.0    ? (uint64_t)plug_whole(from[i])
               : from[i] < 18446744073709551616.0 ? (uint64_t)from[i]
                                                  : UINT64_MAX);
    PLUG_STORE(PLUG_BOOL, uint8_t, from[i] != 0);
    PLUG_STORE_COMPLEX(PLUG_C32, uint16_t, plug_f16_of_float((float)from[i]));
    PLUG_STORE_COMPLEX(PLUG_C64, float, from[i]);
    PLUG_STORE_COMPLEX(PLUG_C128, double, from[i]);
    PLUG_STORE(PLUG_F8_E8M0FNU, uint8_t, plug_e8m0_of_float((float)from[i]));
    PLUG_STORE(PLUG_F8_E4M3FN, uint8_t, PLUG_SMALL(from[i]));
    PLUG_STORE(PLUG_F8_E4M3FNUZ, uint8_t, PLUG_SMALL(from[i]));
    PLUG_STORE(PLUG_F8_E5M2, uint8_t, PLUG_SMALL(from[i]));
    PLUG_STORE(PLUG_F8_E5M2FNUZ, uint8_t, PLUG_SMALL(from[i]));
    default:
      return;
  }
#undef PLUG_SMALL
#undef PLUG_STORE_COMPLEX
#undef PLUG_STORE
}

/* Writes integers as elements: rounded once, to an integer wrapped. */
static inline void plug_store_int_run(void *to, plug_dtype dtype, int64_t stride,
                                      const int64_t *from, int64_t n) {
  char *p = (char *)to;
  double value;
#define PLUG_STORE(dtype_, type_, value_)                                       \
  case dtype_:                                                                  \
    for (int64_t i = 0; i < n; i++, p += stride) *(type_ *)p = (type_)(value_); \
    return
  switch (dtype) {
    PLUG_STORE(PLUG_I8, int8_t, from[i]);
    PLUG_STORE(PLUG_I16, int16_t, from[i]);
    PLUG_STORE(PLUG_I32, int32_t, from[i]);
    PLUG_STORE(PLUG_I64, int64_t, from[i]);
    PLUG_STORE(PLUG_U8, uint8_t, from[i]);
    PLUG_STORE(PLUG_U16, uint16_t, from[i]);
    PLUG_STORE(PLUG_U32, uint32_t, from[i]);
    PLUG_STORE(PLUG_U64, uint64_t, from[i]);
    PLUG_STORE(PLUG_BOOL, uint8_t, from[i] != 0);
    PLUG_STORE(PLUG_F64, double, from[i]);
    PLUG_STORE(PLUG_F32, float, from[i]);
    default: /* what is rounded from float32 */
      for (int64_t i = 0; i < n; i++, p += stride) {
        value = dtype == PLUG_C128 ? (double)from[i] : (double)(float)from[i];
        plug_store_run(p, dtype, 0, &value, 1);
      }
  }
#undef PLUG_STORE
}

static inline double plug_load(const void *element, plug_dtype dtype) {
  double value = 0;
  plug_load_run(&value, element, dtype, 0, 1);
  return value;
}

static inline int64_t plug_load_int(const void *element, plug_dtype dtype) {
  int64_t value = 0;
  plug_load_int_run(&value, element, dtype, 0, 1);
  return value;
}

static inline void plug_store(void *element, plug_dtype dtype, double value) {
  plug_store_run(element, dtype, 0, &value, 1);
}

static inline void plug_store_int(void *element, plug_dtype dtype, int64_t value) {
  plug_store_int_run(element, dtype, 0, &value, 1);
}

/* Of a complex dtype that of the real part. */
static inline plug_dtype plug_part_of(plug_dtype dtype) {
  return dtype == PLUG_C32    ? PLUG_F16
         : dtype == PLUG_C64  ? PLUG_F32
         : dtype == PLUG_C128 ? PLUG_F64
                              : dtype;
}

static inline void plug_load_complex(const void *element, plug_dtype dtype,
                                     double *value) {
  const plug_dtype part = plug_part_of(dtype);
  value[0] = plug_load(element, part);
  value[1] =
      part == dtype ? 0 : plug_load((const char *)element + PLUG_DTYPE_BYTES(part), part);
}

/* What is not complex gets the real part; bool, whether either part is not 0. */
static inline void plug_store_complex(void *element, plug_dtype dtype,
                                      const double *value) {
  const plug_dtype part = plug_part_of(dtype);
  plug_store(element, part,
             dtype == PLUG_BOOL ? value[0] != 0 || value[1] != 0 : value[0]);
  if (part != dtype) plug_store((char *)element + PLUG_DTYPE_BYTES(part), part, value[1]);
}

/* -------------------------------- conversion ----------------------------- */

static inline void plug_convert_complex(char *to, plug_dtype to_dtype, int64_t to_stride,
                                        const char *from, plug_dtype from_dtype,
                                        int64_t from_stride, int64_t n) {
  double value[2];
  for (int64_t i = 0; i < n; i++, to += to_stride, from += from_stride) {
    plug_load_complex(from, from_dtype, value);
    plug_store_complex(to, to_dtype, value);
  }
}

/* Converts a run of n elements, strides in bytes, as Tensor.to does; the runs do not
** overlap. PLUG_UNSUPPORTED if a dtype is not plain. */
static inline plug_status plug_convert(void *to, plug_dtype to_dtype, int64_t to_stride,
                                       const void *from, plug_dtype from_dtype,
                                       int64_t from_stride, int64_t n) {
  enum { BLOCK = 128 };
  double reals[BLOCK];
  int64_t ints[BLOCK];
  const size_t bytes = PLUG_DTYPE_BYTES(from_dtype);
  const char *p = (const char *)from;
  char *q = (char *)to;
  /* A uint64 beyond the others goes by way of double. */
  const int by_int = plug_is_integral(from_dtype) &&
                     (from_dtype != PLUG_U64 || plug_is_integral(to_dtype));
  if (!plug_is_plain(to_dtype) || !plug_is_plain(from_dtype)) return PLUG_UNSUPPORTED;
  if (to_dtype == from_dtype) {
    if (to_stride == (int64_t)bytes && from_stride == (int64_t)bytes && n > 0)
      memcpy(q, p, bytes * (size_t)n);
    else
      for (int64_t i = 0; i < n; i++, q += to_stride, p += from_stride)
        memcpy(q, p, bytes);
    return PLUG_OK;
  }
  if (plug_is_complex(from_dtype)) {
    plug_convert_complex(q, to_dtype, to_stride, p, from_dtype, from_stride, n);
    return PLUG_OK;
  }
  for (int64_t i = 0; i < n; i += BLOCK) {
    const int64_t some = n - i < BLOCK ? n - i : (int64_t)BLOCK;
    if (by_int) {
      plug_load_int_run(ints, p + i * from_stride, from_dtype, from_stride, some);
      plug_store_int_run(q + i * to_stride, to_dtype, to_stride, ints, some);
    } else {
      plug_load_run(reals, p + i * from_stride, from_dtype, from_stride, some);
      plug_store_run(q + i * to_stride, to_dtype, to_stride, reals, some);
    }
  }
  return PLUG_OK;
}

#ifdef __cplusplus
}
#endif
#endif /* TORCHPLUG_PLUG_ELEMENT_H */
