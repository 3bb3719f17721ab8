/* numbers.h - one element of any plain type read as a number and written as another: C's
** conversions, element by element, for plugins that convert where speed is no matter. */
#ifndef TORCHPLUG_TESTS_NUMBERS_H
#define TORCHPLUG_TESTS_NUMBERS_H

#include <stdbool.h>
#include <string.h>

#include "torchplug/plug.h"

typedef struct number {
  enum { kSigned, kUnsigned, kReal } kind;
  int64_t i;
  uint64_t u;
  double real, imag; /* imag is 0 unless it was complex */
} number;

static inline float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float half_to_float(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31, fraction = half & 0x3FF;
  if (exponent == 31) return float_of_bits(sign | 0x7F800000u | fraction << 13);
  if (exponent) return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = (float)fraction * 0x1p-24f;
  return sign ? -small : small;
}

static inline uint16_t float_to_half(float value) {
  const uint32_t bits = bits_of_float(value);
  const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
  if (size > 0x7F800000u) return (uint16_t)(sign | 0x7E00);
  if (size >= 0x477FF000u) return (uint16_t)(sign | 0x7C00);
  if (size < 0x38800000u) {
    const float sum = float_of_bits(size) + 0.5f; /* rounds to steps of 2^-24 */
    return (uint16_t)(sign | (bits_of_float(sum) - bits_of_float(0.5f)));
  }
  return (uint16_t)(sign | (((size + 0xFFF + (size >> 13 & 1)) >> 13) - (112u << 10)));
}

static inline uint16_t float_to_bfloat(float value) {
  const uint32_t bits = bits_of_float(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000u) return 0x7FC0;
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

#define READ_AS(type) \
  type it;            \
  memcpy(&it, at, sizeof it)

/* One half of a complex number, or a real one. */
static inline double read_real(plug_dtype dtype, const char *at) {
  if (dtype == PLUG_F64) {
    READ_AS(double);
    return it;
  }
  if (dtype == PLUG_F32) {
    READ_AS(float);
    return it;
  }
  READ_AS(uint16_t);
  return dtype == PLUG_F16 ? half_to_float(it) : float_of_bits((uint32_t)it << 16);
}

static inline plug_dtype part_of(plug_dtype dtype) {
  if (dtype == PLUG_C32) return PLUG_F16;
  return dtype == PLUG_C64 ? PLUG_F32 : PLUG_F64;
}

static inline number signed_number(int64_t i) { return (number){kSigned, i, 0, 0, 0}; }
static inline number unsigned_number(uint64_t u) {
  return (number){kUnsigned, 0, u, 0, 0};
}

/* Whether the type is one of those below. */
static inline bool is_plain_type(plug_dtype dtype) {
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
    case PLUG_F16:
    case PLUG_BF16:
    case PLUG_F32:
    case PLUG_F64:
    case PLUG_C32:
    case PLUG_C64:
    case PLUG_C128:
      return true;
    default:
      return false;
  }
}

static inline number read_number(plug_dtype dtype, const char *at) {
  switch (dtype) {
    case PLUG_I8: {
      READ_AS(int8_t);
      return signed_number(it);
    }
    case PLUG_I16: {
      READ_AS(int16_t);
      return signed_number(it);
    }
    case PLUG_I32: {
      READ_AS(int32_t);
      return signed_number(it);
    }
    case PLUG_I64: {
      READ_AS(int64_t);
      return signed_number(it);
    }
    case PLUG_U8: {
      READ_AS(uint8_t);
      return unsigned_number(it);
    }
    case PLUG_BOOL: {
      READ_AS(uint8_t);
      return unsigned_number(it != 0);
    }
    case PLUG_U16: {
      READ_AS(uint16_t);
      return unsigned_number(it);
    }
    case PLUG_U32: {
      READ_AS(uint32_t);
      return unsigned_number(it);
    }
    case PLUG_U64: {
      READ_AS(uint64_t);
      return unsigned_number(it);
    }
    case PLUG_C32:
    case PLUG_C64:
    case PLUG_C128: {
      const plug_dtype part = part_of(dtype);
      return (number){kReal, 0, 0, read_real(part, at),
                      read_real(part, at + PLUG_DTYPE_BYTES(part))};
    }
    default:
      return (number){kReal, 0, 0, read_real(dtype, at), 0};
  }
}

static inline void write_real(plug_dtype dtype, char *at, const number *value) {
  const double wide = value->kind == kReal     ? value->real
                      : value->kind == kSigned ? (double)value->i
                                               : (double)value->u;
  /* From an integer at once: by way of a double it would be rounded twice. */
  const float single = value->kind == kReal     ? (float)value->real
                       : value->kind == kSigned ? (float)value->i
                                                : (float)value->u;
  const uint16_t half =
      dtype == PLUG_F16 ? float_to_half(single) : float_to_bfloat(single);
  if (dtype == PLUG_F64) {
    memcpy(at, &wide, sizeof wide);
  } else if (dtype == PLUG_F32) {
    memcpy(at, &single, sizeof single);
  } else {
    memcpy(at, &half, sizeof half);
  }
}

static inline void write_number(plug_dtype dtype, char *at, const number *value) {
  const bool truth = value->kind == kReal ? value->real != 0 || value->imag != 0
                                          : (value->i | (int64_t)value->u) != 0;
  uint64_t whole = value->kind == kSigned ? (uint64_t)value->i : value->u;
  if (value->kind == kReal && dtype == PLUG_U64) whole = (uint64_t)value->real;
  if (value->kind == kReal && dtype != PLUG_U64) {
    const bool is_integral = PLUG_DTYPE_BYTES(dtype) <= 8 && (dtype & 0xff) <= 1;
    whole = is_integral ? (uint64_t)(int64_t)value->real : 0;
  }
  switch (dtype) {
    case PLUG_BOOL:
      *at = (char)truth;
      return;
    case PLUG_I8:
    case PLUG_U8:
    case PLUG_I16:
    case PLUG_U16:
    case PLUG_I32:
    case PLUG_U32:
    case PLUG_I64:
    case PLUG_U64:
      memcpy(at, &whole, PLUG_DTYPE_BYTES(dtype)); /* the low bytes come first */
      return;
    case PLUG_C32:
    case PLUG_C64:
    case PLUG_C128: {
      const plug_dtype part = part_of(dtype);
      const number imag = {kReal, 0, 0, value->imag, 0};
      write_real(part, at, value);
      write_real(part, at + PLUG_DTYPE_BYTES(part), &imag);
      return;
    }
    default:
      write_real(dtype, at, value);
  }
}

/* What PLUG_TENSOR_CONJ and PLUG_TENSOR_NEG mean. */
static inline number apply_lazy_bits(number value, uint32_t flags) {
  if (flags & PLUG_TENSOR_CONJ) value.imag = -value.imag;
  if (flags & PLUG_TENSOR_NEG) {
    value.i = (int64_t)(0 - (uint64_t)value.i);
    value.u = 0 - value.u;
    value.real = -value.real;
    value.imag = -value.imag;
  }
  return value;
}

#endif
