/* copy_strided against element-by-element copying, and its conversions against C's. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { DIMS = 5, BYTES = 1 << 16 };

static unsigned char want[BYTES], source[BYTES], got[BYTES];

struct view {
  int64_t sizes[DIMS], strides[DIMS];
  int64_t first; /* where element [0, 0, ...] lies, in elements */
};

/* Strides of memory in a random order of dimensions, with gaps, some of them walked
** backwards. With `repeats`, some are zero: all elements along them are one. */
static void choose_strides(struct view *view, int32_t ndim, bool repeats) {
  bool placed[DIMS] = {false};
  int64_t step = 1 + random_below(2);
  view->first = random_below(5);
  for (int32_t n = 0; n < ndim; n++) {
    int32_t d = (int32_t)random_below((uint32_t)ndim);
    while (placed[d]) d = (d + 1) % ndim;
    placed[d] = true;
    view->strides[d] = step;
    if (repeats && random_below(3) == 0) {
      view->strides[d] = 0;
      continue;
    }
    if (random_below(3) == 0) {
      view->first += (view->sizes[d] - 1) * step;
      view->strides[d] = -step;
    }
    step *= view->sizes[d] + random_below(2);
  }
}

static int64_t place_of(const struct view *view, const int64_t *index, int32_t ndim) {
  int64_t place = view->first;
  for (int32_t d = 0; d < ndim; d++) place += index[d] * view->strides[d];
  return place;
}

static void copy_by_element(const struct view *to, const struct view *from, int32_t ndim,
                            uint64_t item) {
  int64_t index[DIMS] = {0};
  for (int32_t d = 0; d < ndim; d++) {
    if (to->sizes[d] == 0) return;
  }
  for (;;) {
    memcpy(want + (uint64_t)place_of(to, index, ndim) * item,
           source + (uint64_t)place_of(from, index, ndim) * item, item);
    int32_t d = ndim - 1;
    while (d >= 0 && ++index[d] == to->sizes[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

static plug_tensor tensor_of(void *base, const struct view *view, int32_t ndim,
                             plug_dtype dtype) {
  const uint64_t offset = (uint64_t)view->first * PLUG_DTYPE_BYTES(dtype);
  return (plug_tensor){.mem = on_device(base, offset),
                       .dtype = dtype,
                       .ndim = ndim,
                       .sizes = view->sizes,
                       .strides = view->strides};
}

static void against_reference(void) {
  static const plug_dtype dtypes[] = {PLUG_U8, PLUG_BF16, PLUG_F32, PLUG_I64, PLUG_C128};
  int done = 0;
  if (!rt.copy_strided) absent("no copy_strided: the CPU copies between strides");
  void *to = allocate(BYTES), *from = allocate(BYTES);
  fill_random(source, BYTES);
  put(from, 0, source, BYTES);
  for (int round = 0; round < 300; round++) {
    const int32_t ndim = (int32_t)random_below(DIMS + 1);
    const plug_dtype dtype = dtypes[random_below(5)];
    struct view dst = {{0}, {0}, 0}, src = {{0}, {0}, 0};
    for (int32_t d = 0; d < ndim; d++) {
      dst.sizes[d] = src.sizes[d] =
          (int64_t)random_below(round % 20 == 0 ? 3 : 4) + (round % 20 == 0 ? 0 : 1);
    }
    choose_strides(&dst, ndim, false);
    choose_strides(&src, ndim, true);
    fill_random(want, BYTES);
    put(to, 0, want, BYTES);
    const plug_tensor out = tensor_of(to, &dst, ndim, dtype);
    const plug_tensor in = tensor_of(from, &src, ndim, dtype);
    const plug_status status = rt.copy_strided(device, NULL, &out, &in);
    well_formed(status, "copy_strided");
    if (status == PLUG_UNSUPPORTED) continue; /* the CPU does it */
    ok(status, "copy_strided");
    copy_by_element(&dst, &src, ndim, PLUG_DTYPE_BYTES(dtype));
    get(got, to, 0, BYTES);
    const int64_t at = first_difference(got, want, BYTES);
    expect(
        at < 0,
        "copy_strided number %d, of %d dimensions and %u bytes an element, is wrong at "
        "byte %lld",
        round, ndim, PLUG_DTYPE_BYTES(dtype), (long long)at);
    done++;
  }
  expect(done > 0, "copy_strided supports none of the cases; leave it NULL");
}

/* ---- conversion ---- */

enum { COUNT = 24 };

/* Whole numbers that every one of the types holds. */
static double value_of(int i) { return (i * 5) % 100; }

static void write_value(void *at, plug_dtype dtype, double value) {
  const float f32 = (float)value;
  const int32_t i32 = (int32_t)value;
  const int64_t i64 = (int64_t)value;
  const uint8_t u8 = (uint8_t)value, truth = value != 0;
  const double c128[2] = {value, 0};
  const void *from = dtype == PLUG_F32    ? (const void *)&f32
                     : dtype == PLUG_F64  ? (const void *)&value
                     : dtype == PLUG_I32  ? (const void *)&i32
                     : dtype == PLUG_I64  ? (const void *)&i64
                     : dtype == PLUG_U8   ? (const void *)&u8
                     : dtype == PLUG_BOOL ? (const void *)&truth
                                          : (const void *)c128;
  memcpy(at, from, PLUG_DTYPE_BYTES(dtype));
}

/* Every second element of the source becomes one of the destination, the last first. */
static bool converts(void *to, void *from, plug_dtype dst, plug_dtype src) {
  const int64_t sizes[] = {COUNT}, forth[] = {2}, back[] = {-1};
  const uint64_t to_bytes = PLUG_DTYPE_BYTES(dst), from_bytes = PLUG_DTYPE_BYTES(src);
  fill_random(source, sizeof source);
  memset(want, 0, sizeof want);
  for (int i = 0; i < COUNT; i++) {
    const double number = value_of(i);
    write_value(source + 2 * (uint64_t)i * from_bytes, src, number);
    write_value(want + (COUNT - 1 - (uint64_t)i) * to_bytes, dst,
                src == PLUG_BOOL ? number != 0 : number);
  }
  put(from, 0, source, 2 * COUNT * from_bytes);
  const plug_tensor out = {.mem = on_device(to, (COUNT - 1) * to_bytes),
                           .dtype = dst,
                           .ndim = 1,
                           .sizes = sizes,
                           .strides = back};
  const plug_tensor in = {.mem = on_device(from, 0),
                          .dtype = src,
                          .ndim = 1,
                          .sizes = sizes,
                          .strides = forth};
  const plug_status status = rt.copy_strided(device, NULL, &out, &in);
  well_formed(status, "copy_strided between two types");
  if (status == PLUG_UNSUPPORTED) return false;
  ok(status, "copy_strided between two types");
  get(got, to, 0, COUNT * to_bytes);
  const int64_t at = first_difference(got, want, COUNT * to_bytes);
  expect(at < 0, "copy_strided from type 0x%x to 0x%x is wrong at element %lld", src, dst,
         (long long)(at / (int64_t)to_bytes));
  return true;
}

static void conversions(void) {
  static const plug_dtype types[] = {PLUG_F32, PLUG_F64,  PLUG_I32, PLUG_I64,
                                     PLUG_U8,  PLUG_BOOL, PLUG_C128};
  const int count = sizeof types / sizeof *types;
  int done = 0;
  if (!rt.copy_strided) absent("no copy_strided: the CPU converts");
  void *to = allocate(BYTES), *from = allocate(BYTES);
  for (int i = 0; i < count * count; i++) {
    if (i / count != i % count)
      done += converts(to, from, types[i / count], types[i % count]);
  }
  if (done == 0) absent("copy_strided converts nothing: the CPU does");
}

const struct check strided_checks[] = {
    {.name = "copy-strided",
     .promise =
         "copy_strided is correct for any strides, zero and negative ones included",
     .run = against_reference},
    {.name = "copy-converts",
     .promise = "copy_strided converts between types as C does, or declines",
     .run = conversions},
    {0},
};
