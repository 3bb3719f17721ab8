/* What tensors hold: put into memory as a trace gives it, and compared with it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "torchplug/plug_element.h"

uint64_t element_count(const plug_tensor *tensor) {
  uint64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim; d++) count *= (uint64_t)tensor->sizes[d];
  return tensor->ndim < 0 ? 0 : count;
}

uint64_t span_of(const plug_tensor *tensor, int64_t *first) {
  const int64_t item = (int64_t)PLUG_DTYPE_BYTES(tensor->dtype);
  int64_t least = 0, most = 0;
  *first = 0;
  if (element_count(tensor) == 0) return 0;
  for (int32_t d = 0; d < tensor->ndim; d++) {
    const int64_t reach = (tensor->sizes[d] - 1) * tensor->strides[d];
    *(reach < 0 ? &least : &most) += reach;
  }
  *first = least * item;
  return (uint64_t)((most - least + 1) * item);
}

uint64_t digest_of(const void *bytes, uint64_t count) {
  const unsigned char *at = bytes;
  uint64_t digest = 0xcbf29ce484222325u;
  for (uint64_t i = 0; i < count; i++) digest = (digest ^ at[i]) * 0x100000001b3u;
  return digest;
}

/* ---- numbers as elements ---- */

static bool is_integer(plug_dtype dtype) {
  const uint32_t code = dtype & 0xff;
  return (code <= 1 || code == 6) && dtype >> 16 == 1;
}

/* Whether a trace writes it as a number, and not as bits. */
static bool is_plain(plug_dtype dtype) {
  return is_integer(dtype) || dtype == PLUG_F32 || dtype == PLUG_F64 ||
         dtype == PLUG_C64 || dtype == PLUG_C128;
}

/* Of a type that is none of numbers, its bits. */
static double number_at(plug_dtype dtype, const unsigned char *at) {
  uint64_t bits = 0;
  const size_t bytes = PLUG_DTYPE_BYTES(dtype);
  if (plug_is_plain(dtype)) return plug_load(at, dtype);
  memcpy(&bits, at, bytes < sizeof bits ? bytes : sizeof bits);
  return (double)bits; /* little end first */
}

/* ---- what the trace gives ---- */

static bool store_text(plug_dtype dtype, struct text text, unsigned char *to) {
  char buffer[64], *end = NULL;
  if (text.length == 0 || text.length > 63) return false;
  memcpy(buffer, text.at, text.length);
  buffer[text.length] = '\0';
  if (dtype == PLUG_F32 || dtype == PLUG_F64) {
    plug_store(to, dtype, strtod(buffer, &end));
    return *end == '\0';
  }
  const bool is_negative = buffer[0] == '-';
  const uint64_t bits = is_negative ? (uint64_t)strtoll(buffer, &end, 0)
                                    : (uint64_t)strtoull(buffer, &end, 0);
  const size_t bytes = PLUG_DTYPE_BYTES(dtype);
  memset(to, 0, bytes);
  memcpy(to, &bits, bytes < sizeof bits ? bytes : sizeof bits);
  return *end == '\0';
}

/* The elements one after the other, as data=[...] has them; NULL if it is damaged. */
static unsigned char *elements_of_data(const struct tensor *tensor) {
  const plug_dtype dtype = tensor->is->dtype;
  const plug_dtype part = is_plain(dtype) ? plug_part_of(dtype) : dtype;
  const size_t item = PLUG_DTYPE_BYTES(part);
  const uint64_t parts = element_count(tensor->is) * (PLUG_DTYPE_BYTES(dtype) / item);
  struct text rest = tensor->holds.data;
  if (rest.length < 2 || rest.at[0] != '[' || parts > rest.length) return NULL;
  unsigned char *bytes = keep(parts * item);
  rest.at++;
  rest.length -= 2;
  for (uint64_t i = 0; i < parts; i++) {
    const char *comma = memchr(rest.at, ',', rest.length);
    const size_t length = comma ? (size_t)(comma - rest.at) : rest.length;
    if (!store_text(part, (struct text){rest.at, length}, bytes + i * item)) return NULL;
    if (!comma && i + 1 < parts) return NULL;
    rest.at += length + (comma != NULL);
    rest.length -= length + (comma != NULL);
  }
  return rest.length == 0 ? bytes : NULL;
}

const char *check_contents(const struct tensor *tensor) {
  return elements_of_data(tensor) ? NULL
                                  : "there is a tensor whose data do not fit its size";
}

/* Vigna's xorshift64*: the same numbers for the same seed. */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 0x2545f4914f6cdd1du;
}

static void fill_element(plug_dtype dtype, uint64_t bits, const struct contents *holds,
                         unsigned char *to) {
  const uint64_t choices = (uint64_t)holds->most - (uint64_t)holds->least + 1;
  const uint64_t integer = (uint64_t)holds->least + (choices ? bits % choices : bits);
  /* Of other types: a sign and a small exponent, which is NaN in none of them. */
  const uint64_t others = bits & 0xbfbfbfbfbfbfbfbfu;
  const size_t bytes = PLUG_DTYPE_BYTES(dtype);
  if (plug_is_real(dtype)) {
    plug_store(to, dtype, (double)(bits >> 11) * 0x1p-52 - 1); /* from -1 up to 1 */
  } else {
    memcpy(to, is_integer(dtype) ? &integer : &others, bytes < 8 ? bytes : 8);
  }
}

static unsigned char *elements_of_fill(const struct tensor *tensor) {
  const plug_dtype part = plug_part_of(tensor->is->dtype);
  const size_t item = PLUG_DTYPE_BYTES(part);
  const uint64_t bytes = element_count(tensor->is) * PLUG_DTYPE_BYTES(tensor->is->dtype);
  unsigned char *elements = keep(bytes);
  uint64_t state = tensor->holds.digest ? tensor->holds.digest : 1;
  for (uint64_t at = 0; at < bytes; at += item) {
    fill_element(part, next_random(&state), &tensor->holds, elements + at);
  }
  return elements;
}

void fill_bytes(void *to, uint64_t count, uint64_t seed) {
  unsigned char *at = to;
  uint64_t state = seed ? seed : 1;
  for (uint64_t i = 0; i < count; i++) at[i] = next_random(&state) >> 40 & 0x3f;
}

/* ---- in memory ---- */

/* Copies elements between a row of them and the bytes that a tensor spans. */
static void move_elements(const plug_tensor *tensor, unsigned char *row,
                          unsigned char *spanned, int64_t first, bool is_put) {
  const int64_t item = (int64_t)PLUG_DTYPE_BYTES(tensor->dtype);
  const uint64_t count = element_count(tensor);
  int64_t index[64] = {0}, place = 0;
  for (uint64_t i = 0; i < count; i++) {
    unsigned char *at = spanned + place * item - first;
    memcpy(is_put ? at : row, is_put ? row : at, (size_t)item);
    row += item;
    for (int32_t d = tensor->ndim - 1; d >= 0; d--) {
      place += tensor->strides[d];
      if (++index[d] < tensor->sizes[d]) break;
      place -= tensor->sizes[d] * tensor->strides[d];
      index[d] = 0;
    }
  }
}

static bool copy(int32_t device, plug_stream stream, const plug_mem *dst,
                 const plug_mem *src, uint64_t bytes) {
  if (dst->device == PLUG_HOST && src->device == PLUG_HOST) {
    memcpy((char *)dst->base + dst->offset, (const char *)src->base + src->offset, bytes);
    return true;
  }
  return rt.copy && rt.copy(device, stream, dst, src, bytes) == PLUG_OK;
}

/* The bytes that the tensor spans, read; NULL if they cannot be. */
static unsigned char *read_span(const plug_tensor *tensor, int32_t device,
                                plug_stream stream, int64_t *first, uint64_t *bytes) {
  *bytes = span_of(tensor, first);
  unsigned char *spanned = keep(*bytes);
  plug_mem from = tensor->mem;
  const plug_mem to = {spanned, 0, PLUG_HOST, 0};
  from.offset += (uint64_t)*first;
  return copy(device, stream, &to, &from, *bytes) ? spanned : NULL;
}

bool put_contents(const struct tensor *tensor, int32_t device, plug_stream stream) {
  int64_t first = 0;
  uint64_t bytes = 0;
  if (tensor->holds.given == UNKNOWN || element_count(tensor->is) == 0) return true;
  unsigned char *row =
      tensor->holds.given == DATA ? elements_of_data(tensor) : elements_of_fill(tensor);
  unsigned char *spanned = read_span(tensor->is, device, stream, &first, &bytes);
  if (!row || !spanned) return false;
  move_elements(tensor->is, row, spanned, first, /*is_put=*/true);
  plug_mem to = tensor->is->mem;
  const plug_mem from = {spanned, 0, PLUG_HOST, 0};
  to.offset += (uint64_t)first;
  return copy(device, stream, &to, &from, bytes);
}

/* ---- comparing ---- */

static double tolerance_of(plug_dtype dtype) {
  if (options.tolerance >= 0) return options.tolerance;
  return dtype == PLUG_F64 ? 1e-7 : dtype == PLUG_F32 ? 1e-4 : 2e-2;
}

static bool is_close(plug_dtype dtype, const unsigned char *want,
                     const unsigned char *have) {
  if (memcmp(want, have, PLUG_DTYPE_BYTES(dtype)) == 0) return true;
  if (!plug_is_real(dtype)) return false;
  const double x = number_at(dtype, want), y = number_at(dtype, have);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  if (isinf(x) || isinf(y)) return x == y;
  return fabs(x - y) <= tolerance_of(dtype) * (fabs(x) + 1e-3);
}

static const char *compare_rows(plug_dtype dtype, const unsigned char *want,
                                const unsigned char *have, uint64_t count) {
  static char words[160];
  const plug_dtype part = plug_part_of(dtype);
  const size_t item = PLUG_DTYPE_BYTES(part);
  const uint64_t parts = count * (PLUG_DTYPE_BYTES(dtype) / item);
  for (uint64_t i = 0; i < parts; i++) {
    if (is_close(part, want + i * item, have + i * item)) continue;
    snprintf(words, sizeof words, "element %" PRIu64 " is %.9g, in the trace %.9g",
             i * item / PLUG_DTYPE_BYTES(dtype), number_at(part, have + i * item),
             number_at(part, want + i * item));
    return words;
  }
  return NULL;
}

static bool looks_alike(const plug_tensor *want, const plug_tensor *have) {
  if (want->ndim != have->ndim || want->dtype != have->dtype) return false;
  for (int32_t d = 0; d < want->ndim; d++) {
    if (want->sizes[d] != have->sizes[d]) return false;
  }
  return true;
}

const char *compare_contents(const struct tensor *want, const plug_tensor *have,
                             int32_t device, plug_stream stream) {
  const uint64_t count = element_count(want->is);
  const uint64_t row_bytes = count * PLUG_DTYPE_BYTES(want->is->dtype);
  int64_t first = 0;
  uint64_t bytes = 0;
  if (!looks_alike(want->is, have))
    return "it has another dtype or shape than in the trace";
  if (want->holds.given == UNKNOWN || count == 0) return NULL;
  unsigned char *spanned = read_span(have, device, stream, &first, &bytes);
  if (!spanned) return "it cannot be read";
  unsigned char *row = keep(row_bytes);
  move_elements(have, row, spanned, first, /*is_put=*/false);
  if (want->holds.given == DATA)
    return compare_rows(want->is->dtype, elements_of_data(want), row, count);
  if (is_integer(want->is->dtype) && digest_of(row, row_bytes) != want->holds.digest)
    return "its integers have another digest than in the trace";
  return NULL;
}

static const char *compare_lists(plug_dtype dtype, const plug_value *want,
                                 const plug_value *have) {
  if (want->count != have->count) return "it has another length than in the trace";
  return compare_rows(dtype, (const unsigned char *)want->as.ints,
                      (const unsigned char *)have->as.ints, want->count);
}

const char *compare_numbers(const plug_value *want, const plug_value *have) {
  static char words[160];
  if (want->tag != have->tag) return "it is of another type than in the trace";
  switch (want->tag) {
    case PLUG_VALUE_FLOAT:
      return compare_rows(PLUG_F64, (const unsigned char *)&want->as.f,
                          (const unsigned char *)&have->as.f, 1);
    case PLUG_VALUE_INTS:
      return compare_lists(PLUG_I64, want, have);
    case PLUG_VALUE_FLOATS:
      return compare_lists(PLUG_F64, want, have);
    case PLUG_VALUE_BOOLS:
      return compare_lists(PLUG_BOOL, want, have);
    case PLUG_VALUE_BOOL:
    case PLUG_VALUE_INT:
    case PLUG_VALUE_UINT:
      if (want->as.i == have->as.i) return NULL;
      snprintf(words, sizeof words, "it is %" PRId64 ", in the trace %" PRId64,
               have->as.i, want->as.i);
      return words;
    default:
      return NULL;
  }
}
