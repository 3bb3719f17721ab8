/* Numbers as the elements of tensors. */
#include <math.h>
#include <string.h>

#include "kernels.h"

/* Of a type with so many bits of fraction: rounded to nearest, ties to even. */
static double round_bits(double number, int bits) {
  int exponent = 0;
  if (number == 0 || !isfinite(number)) return number;
  const double fraction = frexp(number, &exponent);
  return ldexp(nearbyint(ldexp(fraction, bits + 1)), exponent - bits - 1);
}

double round_to(plug_dtype dtype, double number) {
  switch (dtype) {
    case PLUG_F64:
      return number;
    case PLUG_F32:
      return (double)(float)number;
    case PLUG_F16:
      return fabs(number) < 0x1p-14 ? ldexp(nearbyint(ldexp(number, 24)), -24)
                                    : round_bits(number, 10);
    case PLUG_BF16:
      return round_bits(number, 7);
    case PLUG_BOOL:
      return number != 0;
    default:
      return trunc(number);
  }
}

static uint16_t half_bits(double number) {
  int exponent = 0;
  const uint16_t sign = signbit(number) ? 0x8000 : 0;
  number = fabs(number);
  if (isnan(number)) return 0x7e00;
  if (number >= 65520) return sign | 0x7c00;
  if (number < 0x1p-14) return sign | (uint16_t)ldexp(number, 24);
  const double fraction = frexp(number, &exponent); /* from 0.5 up to 1 */
  return (uint16_t)(sign | (exponent + 14) << 10 | (int)ldexp(fraction * 2 - 1, 10));
}

static double half_number(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const double fraction = bits & 0x3ff, sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return exponent == 0 ? sign * ldexp(fraction, -24)
                       : sign * ldexp(1024 + fraction, exponent - 25);
}

void store_number(plug_dtype dtype, void *at, double number) {
  if (!is_known(dtype)) {
    memset(at, 0, PLUG_DTYPE_BYTES(dtype));
    return;
  }
  const double rounded = round_to(dtype, number);
  const float single = (float)rounded;
  const int64_t integer = is_float(dtype) ? 0 : (int64_t)rounded;
  const uint16_t half = dtype == PLUG_F16 ? half_bits(rounded) : 0;
  uint32_t wide;
  memcpy(&wide, &single, sizeof wide);
  const uint16_t bfloat = (uint16_t)(wide >> 16);
  const void *from = dtype == PLUG_F64    ? (const void *)&rounded
                     : dtype == PLUG_F32  ? (const void *)&single
                     : dtype == PLUG_F16  ? (const void *)&half
                     : dtype == PLUG_BF16 ? (const void *)&bfloat
                                          : (const void *)&integer;
  memcpy(at, from, PLUG_DTYPE_BYTES(dtype));
}

double load_number(plug_dtype dtype, const void *at) {
  double number = 0;
  float single = 0;
  uint64_t bits = 0;
  const size_t bytes = PLUG_DTYPE_BYTES(dtype);
  memcpy(&bits, at, bytes < sizeof bits ? bytes : sizeof bits);
  switch (dtype) {
    case PLUG_F64:
      memcpy(&number, at, sizeof number);
      return number;
    case PLUG_F32:
      memcpy(&single, at, sizeof single);
      return (double)single;
    case PLUG_F16:
      return half_number((uint16_t)bits);
    case PLUG_BF16:
      bits <<= 16;
      memcpy(&single, &bits, sizeof single);
      return (double)single;
    case PLUG_I8:
      return (int8_t)bits;
    case PLUG_I16:
      return (int16_t)bits;
    case PLUG_I32:
      return (int32_t)bits;
    case PLUG_I64:
      return (double)(int64_t)bits;
    default:
      return (double)bits;
  }
}

bool is_float(plug_dtype dtype) {
  return dtype == PLUG_F64 || dtype == PLUG_F32 || dtype == PLUG_F16 ||
         dtype == PLUG_BF16;
}

bool is_known(plug_dtype dtype) {
  return is_float(dtype) || dtype == PLUG_I32 || dtype == PLUG_I64 || dtype == PLUG_BOOL;
}

double tolerance_of(plug_dtype dtype) {
  return dtype == PLUG_F64    ? 1e-9
         : dtype == PLUG_F32  ? 2e-5
         : dtype == PLUG_F16  ? 4e-3
         : dtype == PLUG_BF16 ? 3e-2
                              : 0;
}
