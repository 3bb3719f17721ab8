/* own_operators.h - operators of a plugin's own, of many kinds, for float tensors in
** memory that the processor reaches. The including file defines NAME, the plugin's,
** and has host, fail, at and count_of of base.h. */
#ifndef TORCHPLUG_TESTS_OWN_OPERATORS_H
#define TORCHPLUG_TESTS_OWN_OPERATORS_H

#include "base.h"

/* How often `prepare` and `forget` were called, for tests. */
static int64_t prepared, forgotten;

static inline float *data_of(const plug_tensor *tensor) {
  return (float *)at(&tensor->mem);
}
static inline const plug_tensor *arg(const plug_call *call, int i) {
  return call->args[i].as.tensors;
}
static inline const plug_tensor *res(const plug_call *call, int i) {
  return call->results[i].as.tensors;
}

static plug_status scale(const plug_call *call) {
  const plug_tensor *x = arg(call, 0);
  if (x->dtype != PLUG_F32) return fail(PLUG_UNSUPPORTED, "only float32 can be scaled");
  for (int64_t i = 0; i < count_of(x); i++)
    data_of(res(call, 0))[i] = data_of(x)[i] * (float)call->args[1].as.f;
  return PLUG_OK;
}

/* out[r, o] = sum over i of x[r, i] * w[o, i], plus bias[o] */
static plug_status linear(const plug_call *call) {
  const plug_tensor *x = arg(call, 0), *w = arg(call, 1);
  const int64_t in = w->sizes[1], out = w->sizes[0], rows = in ? count_of(x) / in : 0;
  const int has_bias = call->args[2].tag != PLUG_NONE;
  if (x->ndim < 1 || x->sizes[x->ndim - 1] != in)
    return fail(PLUG_INVALID, "x and w differ in size");
  for (int64_t r = 0; r < rows; r++)
    for (int64_t o = 0; o < out; o++) {
      float sum = has_bias ? data_of(arg(call, 2))[o] : 0;
      for (int64_t i = 0; i < in; i++)
        sum += data_of(x)[r * in + i] * data_of(w)[o * in + i];
      data_of(res(call, 0))[r * out + o] = sum;
    }
  return PLUG_OK;
}

static plug_status linear_backward(const plug_call *call) {
  const plug_tensor *grad = arg(call, 0), *x = arg(call, 1), *w = arg(call, 2);
  const int64_t in = w->sizes[1], out = w->sizes[0], rows = count_of(x) / in;
  float *wanted[3]; /* NULL: it is not */
  for (int i = 0; i < 3; i++) {
    const int is_there = call->results[i].tag != PLUG_NONE;
    if (is_there != (call->args[3].as.bools[i] != 0))
      return fail(PLUG_INVALID, "a result is not there, or not wanted");
    wanted[i] = is_there ? data_of(res(call, i)) : NULL;
    if (is_there) memset(wanted[i], 0, (size_t)count_of(res(call, i)) * sizeof(float));
  }
  float *dx = wanted[0], *dw = wanted[1], *db = wanted[2];
  for (int64_t r = 0; r < rows; r++)
    for (int64_t o = 0; o < out; o++) {
      const float g = data_of(grad)[r * out + o];
      if (db) db[o] += g;
      for (int64_t i = 0; dx && i < in; i++) dx[r * in + i] += g * data_of(w)[o * in + i];
      for (int64_t i = 0; dw && i < in; i++) dw[o * in + i] += g * data_of(x)[r * in + i];
    }
  return PLUG_OK;
}

static plug_status add_in_place(const plug_call *call) {
  const plug_tensor *x = res(call, 0);
  if (x->mem.base != arg(call, 0)->mem.base)
    return fail(PLUG_INVALID, "the result is not the argument");
  for (int64_t i = 0; i < count_of(x); i++) data_of(x)[i] += data_of(arg(call, 1))[i];
  return PLUG_OK;
}

/* cache[at] = x */
static plug_status store(const plug_call *call) {
  const plug_tensor *x = arg(call, 1);
  const int64_t row = call->args[2].as.i;
  if (!(arg(call, 0)->flags & PLUG_TENSOR_WRITTEN))
    return fail(PLUG_INVALID, "the cache is not marked");
  if (row < 0 || row >= arg(call, 0)->sizes[0])
    return fail(PLUG_INVALID, "there is no such row");
  if (count_of(x) * arg(call, 0)->sizes[0] != count_of(arg(call, 0)))
    return fail(PLUG_INVALID, "x is no row of the cache");
  memcpy(data_of(arg(call, 0)) + row * count_of(x), data_of(x),
         (size_t)count_of(x) * sizeof(float));
  return PLUG_OK;
}

/* Each twice its argument. */
static plug_status double_each(const plug_call *call) {
  const plug_value *xs = &call->args[0], *ys = &call->results[0];
  for (uint32_t n = 0; n < xs->count; n++)
    for (int64_t i = 0; i < count_of(&xs->as.tensors[n]); i++)
      data_of(&ys->as.tensors[n])[i] = 2 * data_of(&xs->as.tensors[n])[i];
  return PLUG_OK;
}

/* The n-th is x plus n. */
static plug_status counted(const plug_call *call) {
  for (uint32_t n = 0; n < call->results[0].count; n++)
    for (int64_t i = 0; i < count_of(arg(call, 0)); i++)
      data_of(&call->results[0].as.tensors[n])[i] = data_of(arg(call, 0))[i] + (float)n;
  return PLUG_OK;
}

/* What it was given, as numbers. */
static plug_status told(const plug_call *call) {
  int64_t *y = (int64_t *)at(&res(call, 0)->mem);
  const plug_value *v = call->args;
  y[0] = v[0].tag == PLUG_NONE ? -1 : count_of(v[0].as.tensors);
  y[1] = v[1].count;
  y[2] = 0;
  for (uint32_t i = 0; i < v[1].count; i++) y[2] += v[1].as.tensors[i].ndim < 0;
  y[3] = v[2].count ? v[2].as.ints[v[2].count - 1] : -1;
  y[4] = v[3].count ? (int64_t)(v[3].as.floats[0] * 100) : -1;
  y[5] = v[4].as.i;
  y[6] = v[5].count ? v[5].as.str[0] : 0;
  y[7] = v[6].tag == PLUG_NONE ? -1 : (int64_t)v[6].as.u;
  y[8] = v[7].tag == PLUG_VALUE_FLOAT ? (int64_t)(v[7].as.f * 100) : v[7].as.i;
  y[9] = call->device;
  y[10] = call->stream != NULL;
  y[11] = call->arg_count;
  return PLUG_OK;
}

static plug_status count_positive(const plug_call *call) {
  call->results[0].tag = PLUG_VALUE_INT;
  call->results[0].as.i = 0;
  for (int64_t i = 0; i < count_of(arg(call, 0)); i++)
    call->results[0].as.i += data_of(arg(call, 0))[i] > 0;
  return PLUG_OK;
}

/* Where the positive elements are, what they are, and which they are: lists of numbers,
** for which the kernel asks. */
static plug_status positives(const plug_call *call) {
  const float *x = data_of(arg(call, 0));
  const int64_t all = count_of(arg(call, 0));
  int64_t count = 0, next = 0;
  for (int64_t i = 0; i < all; i++) count += x[i] > 0;
  plug_status status = host->output(host, call, 0, PLUG_I64, 1, &count, NULL);
  if (status == PLUG_OK) status = host->output(host, call, 1, PLUG_F64, 1, &count, NULL);
  if (status == PLUG_OK) status = host->output(host, call, 2, PLUG_BOOL, 1, &all, NULL);
  if (status != PLUG_OK) return status;
  for (int64_t i = 0; i < all; i++) {
    ((uint8_t *)call->results[2].as.bools)[i] = x[i] > 0;
    if (!(x[i] > 0)) continue;
    ((int64_t *)call->results[0].as.ints)[next] = i;
    ((double *)call->results[1].as.floats)[next++] = x[i];
  }
  return PLUG_OK;
}

/* Asks for a list of numbers in a way that is wrong; 4: gives none. */
static plug_status asks_wrongly(const plug_call *call) {
  const int64_t how = call->args[1].as.i, sizes[2] = {how == 2 ? -1 : 2, 1};
  if (how == 4) return PLUG_OK;
  const plug_dtype dtype = how == 0 ? PLUG_F64 : PLUG_I64;
  const plug_status status =
      host->output(host, call, 0, dtype, how == 1 ? 2 : 1, sizes, NULL);
  return how == 3 ? host->output(host, call, 0, dtype, 1, sizes, NULL) : status;
}

/* A Scalar, in the tag that its tensor's dtype gives it. */
static plug_status largest(const plug_call *call) {
  const plug_tensor *x = arg(call, 0);
  plug_value *y = &call->results[0];
  if (y->tag == PLUG_VALUE_INT) {
    const int64_t *items = (const int64_t *)at(&x->mem);
    y->as.i = INT64_MIN;
    for (int64_t i = 0; i < count_of(x); i++)
      if (items[i] > y->as.i) y->as.i = items[i];
  } else if (y->tag == PLUG_VALUE_FLOAT) {
    y->as.f = data_of(x)[0];
    for (int64_t i = 1; i < count_of(x); i++)
      if (data_of(x)[i] > y->as.f) y->as.f = data_of(x)[i];
  } else {
    return fail(PLUG_INVALID, "it is no number");
  }
  return PLUG_OK;
}

/* The positive elements: shapes its result itself. */
static plug_status positive(const plug_call *call) {
  int64_t count = 0;
  const float *x = data_of(arg(call, 0));
  for (int64_t i = 0; i < count_of(arg(call, 0)); i++) count += x[i] > 0;
  const plug_status status = host->output(host, call, 0, PLUG_F32, 1, &count, NULL);
  if (status != PLUG_OK) return status;
  float *y = data_of(res(call, 0));
  for (int64_t i = 0; i < count_of(arg(call, 0)); i++)
    if (x[i] > 0) *y++ = x[i];
  return PLUG_OK;
}

static plug_status stacked_shape(const plug_call *call) {
  int64_t sizes[8] = {call->args[1].as.i};
  const plug_tensor *x = arg(call, 0);
  if (x->mem.base) return fail(PLUG_INVALID, "a shape has no memory");
  if (x->ndim > 7) return fail(PLUG_UNSUPPORTED, "it has too many dimensions");
  for (int32_t d = 0; d < x->ndim; d++) sizes[d + 1] = x->sizes[d];
  return host->output(host, call, 0, x->dtype, x->ndim + 1, sizes, NULL);
}

static plug_status stacked(const plug_call *call) {
  const int64_t count = count_of(arg(call, 0));
  for (int64_t n = 0; n < call->args[1].as.i; n++)
    memcpy(data_of(res(call, 0)) + n * count, data_of(arg(call, 0)),
           (size_t)count * sizeof(float));
  return PLUG_OK;
}

/* Whole numbers below 2^20 from its seed, by way of scratch memory. */
static plug_status noise(const plug_call *call) {
  plug_rng rng = {.size = sizeof rng};
  plug_mem scratch;
  const plug_tensor *y = res(call, 0);
  const uint64_t bytes = (uint64_t)count_of(y) * sizeof(float);
  plug_status status = host->rng(host, call, (uint64_t)count_of(y), &rng);
  if (status == PLUG_OK) status = host->scratch(host, call, bytes, &scratch);
  if (status != PLUG_OK) return status;
  uint64_t state = rng.seed + rng.offset * 0x9e3779b97f4a7c15u;
  for (int64_t i = 0; i < count_of(y); i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ((float *)at(&scratch))[i] = (float)(state >> 44);
  }
  if (bytes) memcpy(data_of(y), at(&scratch), bytes);
  return PLUG_OK;
}

static plug_status fails(const plug_call *call) {
  switch (call->args[1].as.i) {
    case 0:
      return fail(PLUG_UNSUPPORTED, "the moon is not full");
    case 1:
      return PLUG_UNSUPPORTED;
    case 2:
      return fail(PLUG_NO_MEMORY, "no memory is left");
    case 3:
      return fail(PLUG_INTERNAL, "a gear is broken");
    case 6: /* sets a sentence, and succeeds */
      host->set_error(host, "an old sentence");
      break;
    case 4:
      host->report(host, call->device, call->stream, call->sequence, PLUG_INTERNAL,
                   "it broke later");
      break;
    default:
      break;
  }
  memset(data_of(res(call, 0)), 0, (size_t)count_of(res(call, 0)) * sizeof(float));
  return PLUG_OK;
}

/* Whether it lies contiguous, and how it is marked. */
static plug_status layout(const plug_call *call) {
  int64_t *y = (int64_t *)at(&res(call, 0)->mem), next = 1;
  const plug_tensor *x = arg(call, 0);
  y[0] = 1;
  for (int32_t d = x->ndim - 1; d >= 0; d--) {
    if (x->sizes[d] != 1 && x->strides[d] != next) y[0] = 0;
    next *= x->sizes[d];
  }
  y[1] = x->flags;
  y[2] = call->flags & PLUG_CALL_DETERMINISTIC;
  return PLUG_OK;
}

static plug_status prepare_count(const plug_call *call, void **state) {
  (void)call;
  *state = malloc(sizeof(int64_t));
  *(int64_t *)*state = ++prepared;
  return PLUG_OK;
}
static void forget_count(void *state) {
  forgotten++;
  free(state);
}
static plug_status number_of_plan(const plug_call *call) {
  call->results[0].tag = PLUG_VALUE_INT;
  call->results[0].as.i = call->state ? *(int64_t *)call->state : -1;
  return PLUG_OK;
}

/* Keeps nothing: there is nothing to forget. */
static plug_status prepare_nothing(const plug_call *call, void **state) {
  (void)call;
  *state = NULL;
  return PLUG_OK;
}
static void forget_something(void *state) {
  if (!state) abort();
}

static plug_status invert_in_place(const plug_call *call) {
  const plug_tensor *x = res(call, 0);
  for (int64_t i = 0; i < count_of(x); i++) data_of(x)[i] = 1 / data_of(x)[i];
  return PLUG_OK;
}

/* A matrix, column by column. */
static plug_status columns_shape(const plug_call *call) {
  const plug_tensor *x = arg(call, 0);
  if (x->ndim != 2) return fail(PLUG_UNSUPPORTED, "it takes matrices");
  const int64_t strides[] = {1, x->sizes[0]};
  return host->output(host, call, 0, x->dtype, 2, x->sizes, strides);
}
static plug_status columns_prepare(const plug_call *call, void **state) {
  *state = NULL;
  return columns_shape(call);
}
static plug_status columns(const plug_call *call) {
  const plug_tensor *x = arg(call, 0), *y = res(call, 0);
  for (int64_t r = 0; r < x->sizes[0]; r++)
    for (int64_t c = 0; c < x->sizes[1]; c++)
      data_of(y)[r * y->strides[0] + c * y->strides[1]] = data_of(x)[r * x->sizes[1] + c];
  return PLUG_OK;
}

static void count_threads(void *argument, int32_t index, int32_t count) {
  if (index == 0) *(int64_t *)argument = count;
}
static plug_status threads(const plug_call *call) {
  host->team(host, count_threads, &call->results[0].as.i);
  return PLUG_OK;
}

/* x + 1 and x * x */
static plug_status two(const plug_call *call) {
  for (int64_t i = 0; i < count_of(arg(call, 0)); i++) {
    const float x = data_of(arg(call, 0))[i];
    data_of(res(call, 0))[i] = x + 1;
    data_of(res(call, 1))[i] = x * x;
  }
  return PLUG_OK;
}

static plug_status zeros(const plug_call *call) {
  for (uint32_t r = 0; r < call->result_count; r++)
    memset(
        at(&res(call, (int)r)->mem), 0,
        (size_t)count_of(res(call, (int)r)) * PLUG_DTYPE_BYTES(res(call, (int)r)->dtype));
  return PLUG_OK;
}

static const plug_dtype only_f32[] = {PLUG_F32};

static const plug_kernel own_operators[] = {
    {.schema = NAME "::scale(Tensor x, float by=1.0) -> Tensor",
     .fn = scale,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "x",
     .gradient = "x: " NAME "::scale(grad, by)"},
    {.schema = NAME "::linear(Tensor x, Tensor w, Tensor? bias=None) -> Tensor",
     .fn = linear,
     .accepts = PLUG_ACCEPTS_HOST,
     .dtypes = only_f32,
     .dtype_count = 1,
     .shapes = "[x[:-1], w.0] x",
     .gradient = "x, w, bias: " NAME "::linear_backward(grad, x, w, wanted)"},
    {.schema = NAME "::linear_backward(Tensor grad, Tensor x, Tensor w, bool[3] wanted) "
                    "-> (Tensor, Tensor, Tensor)",
     .fn = linear_backward,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "x if wanted.0; w if wanted.1; [w.0] w if wanted.2"},
    {.schema = NAME "::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)",
     .fn = add_in_place,
     .accepts = PLUG_ACCEPTS_HOST,
     .gradient = "x: grad; y: grad"},
    {.schema = NAME "::store(Tensor(a!) cache, Tensor x, int at) -> ()",
     .fn = store,
     .accepts = PLUG_ACCEPTS_HOST},
    {.schema = NAME "::double_each(Tensor[] xs) -> Tensor[]",
     .fn = double_each,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "each xs",
     .gradient = "xs: " NAME "::double_each(grad)"},
    {.schema = NAME "::counted(Tensor x, int n) -> Tensor[]",
     .fn = counted,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "n * x"},
    {.schema = NAME
     "::told(Tensor? x, Tensor?[] xs, int[] ints, float[] floats, bool flag, str text, "
     "ScalarType? dtype=None, *, Scalar number=2) -> Tensor",
     .fn = told,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "[12] int64"},
    {.schema = NAME "::count_positive(Tensor x) -> int",
     .fn = count_positive,
     .accepts = PLUG_ACCEPTS_HOST},
    {.schema = NAME "::positives(Tensor x) -> (int[], float[], bool[])",
     .fn = positives,
     .accepts = PLUG_ACCEPTS_HOST},
    {.schema = NAME "::asks_wrongly(Tensor x, int how) -> int[]",
     .fn = asks_wrongly,
     .accepts = PLUG_ACCEPTS_HOST},
    {.schema = NAME "::largest(Tensor x) -> Scalar",
     .fn = largest,
     .accepts = PLUG_ACCEPTS_HOST},
    {.schema = NAME "::positive(Tensor x) -> Tensor",
     .fn = positive,
     .accepts = PLUG_ACCEPTS_HOST | PLUG_SHAPES_OUTPUT},
    {.schema = NAME "::stacked(Tensor x, int times) -> Tensor",
     .fn = stacked,
     .accepts = PLUG_ACCEPTS_HOST,
     .shape = stacked_shape},
    {.schema = NAME "::noise(SymInt[] size, *, Generator? generator=None) -> Tensor",
     .fn = noise,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "[size] float32"},
    {.schema = NAME "::noise.like(Tensor x, *, Generator? generator=None) -> Tensor",
     .fn = noise,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "x"},
    {.schema = NAME "::fails(Tensor x, int how) -> Tensor",
     .fn = fails,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "x"},
    {.schema = NAME "::layout(Tensor x) -> Tensor",
     .fn = layout,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "[3] int64"},
    {.schema = NAME "::layout.strided(Tensor x) -> Tensor",
     .fn = layout,
     .accepts = PLUG_ACCEPTS_HOST | PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_LAZY_BITS,
     .shapes = "[3] int64"},
    {.schema = NAME "::number_of_plan(Tensor x) -> int",
     .fn = number_of_plan,
     .accepts = PLUG_ACCEPTS_HOST,
     .prepare = prepare_count,
     .forget = forget_count},
    {.schema = NAME "::number_of_plan.word(Tensor x, str word, float by=1.0) -> int",
     .fn = number_of_plan,
     .accepts = PLUG_ACCEPTS_HOST,
     .prepare = prepare_count,
     .forget = forget_count},
    {.schema = NAME "::keeps_nothing(Tensor x, int how) -> Tensor",
     .fn = fails,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "x",
     .prepare = prepare_nothing,
     .forget = forget_something},
    {.schema = NAME "::invert_(Tensor(a!) x) -> Tensor(a!)",
     .fn = invert_in_place,
     .accepts = PLUG_ACCEPTS_HOST,
     .gradient =
         "x: aten::neg(aten::mul.Tensor(aten::mul.Tensor(grad, result), result))"},
    {.schema = NAME "::columns(Tensor x) -> Tensor",
     .fn = columns,
     .accepts = PLUG_ACCEPTS_HOST,
     .shape = columns_shape},
    {.schema = NAME "::prepared_columns(Tensor x) -> Tensor",
     .fn = columns,
     .accepts = PLUG_ACCEPTS_HOST | PLUG_SHAPES_OUTPUT,
     .prepare = columns_prepare},
    {.schema = NAME "::threads() -> int", .fn = threads, .accepts = PLUG_ACCEPTS_HOST},
    {.schema = NAME "::two(Tensor x) -> (Tensor, Tensor)",
     .fn = two,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "x; x",
     .gradient = "x: aten::add.Tensor(grad, aten::mul.Tensor(grads.1, x), alpha=2)"},
    {.schema = NAME
     "::halves(Tensor x, int extra=0, ScalarType? dtype=None) -> (Tensor, Tensor)",
     .fn = zeros,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes =
         "[x.0 // 2, x[1:]] dtype|x; [max(x.0 - x.0 // 2 + extra, 1), x[1:]] dtype|x"},
};

#endif
