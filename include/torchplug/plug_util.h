/* plug_util.h - what most kernels need and plug.h does not say: C99, header only,
** optional, no library. It knows tensors, not operators, and calls no function of the
** host; whatever it is given stays the caller's. Any thread may call any of it.
**
**   tensors      plug_address, plug_numel, plug_is_contiguous, plug_is_dense, plug_span
**   dimensions   plug_wrap_dim, plug_dim_mask
**   numbers      plug_get_double, plug_get_int, plug_get_bool, plug_get_complex
**   elements     plug_load, plug_store and their kin; plug_convert
**   loops        plug_loop_make; plug_runs_begin, plug_runs_next; plug_split
**   reductions   plug_reduction_make: a loop over what is kept, one over what is reduced
**
** Addresses are formed as base + offset: for devices that are PLUG_ADDRESSABLE, and for
** host memory. docs/kernels.md shows each in use. */
#ifndef TORCHPLUG_PLUG_UTIL_H
#define TORCHPLUG_PLUG_UTIL_H

#include <string.h>

#include "torchplug/plug.h"
#include "torchplug/plug_element.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------- tensors -------------------------------- */

/* NULL for memory that there is none of, as a tensor without elements has. */
static inline void *plug_address(const plug_mem *mem) {
  return mem->base ? (char *)mem->base + mem->offset : NULL;
}

static inline int plug_is_present(const plug_tensor *tensor) { return tensor->ndim >= 0; }

/* Elements; 1 for 0 dimensions. */
static inline int64_t plug_numel(const plug_tensor *tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim; d++) count *= tensor->sizes[d];
  return count;
}

/* Whether elements lie row by row without gaps. True for none. */
static inline int plug_is_contiguous(const plug_tensor *tensor) {
  int64_t expected = 1;
  if (plug_numel(tensor) == 0) return 1;
  for (int32_t d = tensor->ndim - 1; d >= 0; d--) {
    if (tensor->sizes[d] == 1) continue;
    if (tensor->strides[d] != expected) return 0;
    expected *= tensor->sizes[d];
  }
  return 1;
}

/* Whether elements lie without gaps and each by itself, in whatever order of the
** dimensions: contiguous, channels last, transposed. True for none. */
static inline int plug_is_dense(const plug_tensor *tensor) {
  int64_t expected = 1;
  const int64_t count = plug_numel(tensor);
  while (count != 0 && expected != count) {
    int32_t d = 0;
    while (d < tensor->ndim && (tensor->strides[d] != expected || tensor->sizes[d] == 1))
      d++;
    if (d == tensor->ndim) return 0;
    expected *= tensor->sizes[d];
  }
  return 1;
}

/* The bytes from the lowest element to the end of the highest. *first, if wanted, is
** where the lowest lies from plug_address(&tensor->mem): 0, or less where strides are
** negative. */
static inline uint64_t plug_span(const plug_tensor *tensor, int64_t *first) {
  const int64_t bytes = (int64_t)PLUG_DTYPE_BYTES(tensor->dtype);
  int64_t low = 0, high = bytes;
  for (int32_t d = 0; d < tensor->ndim; d++) {
    const int64_t reach = (tensor->sizes[d] - 1) * tensor->strides[d] * bytes;
    *(reach < 0 ? &low : &high) += reach;
  }
  if (plug_numel(tensor) == 0) low = high = 0;
  if (first) *first = low;
  return (uint64_t)(high - low);
}

/* ------------------------------ dimensions ------------------------------ */

/* Makes a dim that counts from the end count from the beginning. 0 if there is no such
** dim; a tensor without dimensions has the dims 0 and -1, as in PyTorch. */
static inline int plug_wrap_dim(int64_t *dim, int32_t ndim) {
  const int64_t count = ndim > 0 ? ndim : 1;
  if (*dim < -count || *dim >= count) return 0;
  if (*dim < 0) *dim += count;
  return 1;
}

/* Bit d is set for each dim that `dims` names: a list, one number, or, with PLUG_NONE and
** with an empty list, all of them. PLUG_INVALID if one is not there or there twice. */
static inline plug_status plug_dim_mask(const plug_value *dims, int32_t ndim,
                                        uint64_t *mask) {
  const int64_t *list = dims->tag == PLUG_VALUE_INT ? &dims->as.i : dims->as.ints;
  const uint32_t count = dims->tag == PLUG_VALUE_INT ? 1 : dims->count;
  uint64_t made = 0;
  if (ndim > 64) return PLUG_UNSUPPORTED;
  if (dims->tag != PLUG_NONE && dims->tag != PLUG_VALUE_INT &&
      dims->tag != PLUG_VALUE_INTS)
    return PLUG_UNSUPPORTED;
  if (dims->tag == PLUG_NONE || count == 0) {
    *mask = ndim == 64 ? ~(uint64_t)0 : ((uint64_t)1 << ndim) - 1;
    return PLUG_OK;
  }
  for (uint32_t i = 0; i < count; i++) {
    int64_t dim = list[i];
    if (!plug_wrap_dim(&dim, ndim) || (made >> dim & 1) != 0) return PLUG_INVALID;
    made |= (uint64_t)1 << dim;
  }
  *mask = ndim == 0 ? 0 : made;
  return PLUG_OK;
}

/* -------------------------------- numbers ------------------------------- */

/* Each reads a number, a Scalar, or a tensor of one element in host memory; PLUG_NONE
** leaves what the caller has put there, which is how to say a default. PLUG_UNSUPPORTED:
** it is something else, or does not fit (a complex number into a double). */

static inline plug_status plug_get_complex(const plug_value *value, double *number) {
  const plug_tensor *tensor = value->as.tensors;
  switch (value->tag) {
    case PLUG_NONE:
      return PLUG_OK;
    case PLUG_VALUE_COMPLEX:
      number[0] = value->as.floats[0];
      number[1] = value->as.floats[1];
      return PLUG_OK;
    case PLUG_VALUE_TENSOR:
      if (tensor->mem.device != PLUG_HOST || tensor->layout != 0 ||
          plug_numel(tensor) != 1)
        return PLUG_UNSUPPORTED;
      if (!plug_is_plain(tensor->dtype)) return PLUG_UNSUPPORTED;
      plug_load_complex(plug_address(&tensor->mem), tensor->dtype, number);
      if ((tensor->flags & PLUG_TENSOR_CONJ) != 0) number[1] = -number[1];
      if ((tensor->flags & PLUG_TENSOR_NEG) != 0)
        number[0] = -number[0], number[1] = -number[1];
      return PLUG_OK;
    case PLUG_VALUE_BOOL:
    case PLUG_VALUE_INT:
      number[0] = (double)value->as.i;
      break;
    case PLUG_VALUE_UINT:
      number[0] = (double)value->as.u;
      break;
    case PLUG_VALUE_FLOAT:
      number[0] = value->as.f;
      break;
    default:
      return PLUG_UNSUPPORTED;
  }
  number[1] = 0;
  return PLUG_OK;
}

static inline plug_status plug_get_double(const plug_value *value, double *number) {
  double both[2] = {*number, 0};
  const plug_status status = plug_get_complex(value, both);
  if (status != PLUG_OK) return status;
  if (both[1] != 0) return PLUG_UNSUPPORTED;
  *number = both[0];
  return PLUG_OK;
}

/* Of a number with a fraction the whole part. */
static inline plug_status plug_get_int(const plug_value *value, int64_t *number) {
  double real = 0;
  if (value->tag == PLUG_NONE) return PLUG_OK;
  if (value->tag == PLUG_VALUE_BOOL || value->tag == PLUG_VALUE_INT) {
    *number = value->as.i;
    return PLUG_OK;
  }
  if (value->tag == PLUG_VALUE_UINT) return PLUG_UNSUPPORTED; /* above INT64_MAX */
  const plug_status status = plug_get_double(value, &real);
  if (status != PLUG_OK) return status;
  *number = plug_whole(real);
  if (value->tag == PLUG_VALUE_TENSOR && plug_is_integral(value->as.tensors->dtype)) {
    const plug_tensor *tensor = value->as.tensors; /* a double holds 53 bits of it */
    const int64_t whole = plug_load_int(plug_address(&tensor->mem), tensor->dtype);
    /* The least int64 has no negative and stays, as in PyTorch. */
    *number =
        (tensor->flags & PLUG_TENSOR_NEG) != 0 ? (int64_t) - (uint64_t)whole : whole;
  }
  return PLUG_OK;
}

static inline plug_status plug_get_bool(const plug_value *value, int *is_true) {
  double both[2] = {0, 0};
  const plug_status status = plug_get_complex(value, both);
  if (status == PLUG_OK && value->tag != PLUG_NONE)
    *is_true = both[0] != 0 || both[1] != 0;
  return status;
}

/* --------------------------------- loops -------------------------------- */

/* 32 dimensions of two elements or more are more elements than a kernel will see. */
#define PLUG_LOOP_DIMS 32
#define PLUG_LOOP_OPERANDS 8

/* A walk over tensors of one shape: dimensions of one element are gone, those that lie
** on in all operands are one, and the rest are in the order of memory. Outermost first,
** at least one; the last is what a run goes along. */
typedef struct plug_loop {
  int32_t ndim;
  int32_t operands;
  int64_t count; /* elements */
  int64_t sizes[PLUG_LOOP_DIMS];
  int64_t strides[PLUG_LOOP_DIMS][PLUG_LOOP_OPERANDS]; /* in bytes */
  char *base[PLUG_LOOP_OPERANDS];                      /* of the first element */
} plug_loop;
enum {
  PLUG_LOOP_IN_ORDER = 1 /* row by row, as indices count, whatever lies where in memory */
};

/* The steps from which loops are made: begin, a call of add for each dimension from the
** outermost, finish. add is 0 if there are too many. */
static inline void plug_loop_begin(plug_loop *loop, int32_t operands) {
  loop->ndim = 0;
  loop->operands = operands;
  loop->count = 1;
}

static inline int plug_loop_add(plug_loop *loop, int64_t size, const int64_t *strides) {
  loop->count *= size;
  if (size == 1) return 1;
  if (loop->ndim == PLUG_LOOP_DIMS) return 0;
  loop->sizes[loop->ndim] = size;
  for (int32_t k = 0; k < loop->operands; k++) loop->strides[loop->ndim][k] = strides[k];
  loop->ndim++;
  return 1;
}

/* Whether dimension `inner` takes larger steps than `outer`, in the first operand in
** which both take any. */
static inline int plug_loop_is_swapped(const plug_loop *loop, int32_t outer,
                                       int32_t inner) {
  for (int32_t k = 0; k < loop->operands; k++) {
    const int64_t a = loop->strides[outer][k], b = loop->strides[inner][k];
    const int64_t far = a < 0 ? -a : a, near = b < 0 ? -b : b;
    if (far != 0 && near != 0 && far != near) return far < near;
  }
  return 0;
}

static inline void plug_loop_move(plug_loop *loop, int32_t to, int32_t from) {
  loop->sizes[to] = loop->sizes[from];
  memmove(loop->strides[to], loop->strides[from], sizeof loop->strides[to]);
}

static inline void plug_loop_sort(plug_loop *loop) {
  for (int32_t d = 1; d < loop->ndim; d++) {
    for (int32_t e = d; e > 0 && plug_loop_is_swapped(loop, e - 1, e); e--) {
      const int64_t size = loop->sizes[e];
      int64_t strides[PLUG_LOOP_OPERANDS];
      memcpy(strides, loop->strides[e], sizeof strides);
      plug_loop_move(loop, e, e - 1);
      loop->sizes[e - 1] = size;
      memcpy(loop->strides[e - 1], strides, sizeof strides);
    }
  }
}

static inline int plug_loop_goes_on(const plug_loop *loop, int32_t outer, int32_t inner) {
  for (int32_t k = 0; k < loop->operands; k++) {
    if (loop->strides[outer][k] != loop->sizes[inner] * loop->strides[inner][k]) return 0;
  }
  return 1;
}

static inline void plug_loop_join(plug_loop *loop) {
  int32_t kept = 0;
  for (int32_t d = 1; d < loop->ndim; d++) {
    if (plug_loop_goes_on(loop, kept, d)) {
      const int64_t size = loop->sizes[kept] * loop->sizes[d];
      plug_loop_move(loop, kept, d);
      loop->sizes[kept] = size;
    } else {
      plug_loop_move(loop, ++kept, d);
    }
  }
  loop->ndim = kept + 1;
}

/* `bytes`, of one element of each operand: the stride of a loop of one element, which a
** kernel then takes for contiguous. */
static inline void plug_loop_finish(plug_loop *loop, const int64_t *bytes, int flags) {
  if (loop->count == 0 || loop->ndim == 0) {
    loop->ndim = 1;
    loop->sizes[0] = loop->count;
    for (int32_t k = 0; k < loop->operands; k++) loop->strides[0][k] = bytes[k];
    return;
  }
  if ((flags & PLUG_LOOP_IN_ORDER) == 0) plug_loop_sort(loop);
  plug_loop_join(loop);
}

/* In bytes, along dimension `d` of `like`, to whose shape the tensor may need expanding.
** 0 in *fits if it cannot be. */
static inline int64_t plug_expanded_stride(const plug_tensor *tensor,
                                           const plug_tensor *like, int32_t d,
                                           int *fits) {
  const int32_t own = d - (like->ndim - tensor->ndim);
  if (own < 0) return 0;
  if (tensor->sizes[own] == like->sizes[d])
    return tensor->strides[own] * (int64_t)PLUG_DTYPE_BYTES(tensor->dtype);
  if (tensor->sizes[own] != 1) *fits = 0;
  return 0;
}

/* A loop over the shape of tensors[0], to which the others are expanded. Lazy bits are
** the kernel's to heed. PLUG_UNSUPPORTED: one is absent, not strided or of another shape,
** or there are too many. */
static inline plug_status plug_loop_make(plug_loop *loop, int32_t operands,
                                         const plug_tensor *const *tensors, int flags) {
  int64_t bytes[PLUG_LOOP_OPERANDS], strides[PLUG_LOOP_OPERANDS];
  int fits = 1;
  if (operands < 1 || operands > PLUG_LOOP_OPERANDS) return PLUG_UNSUPPORTED;
  plug_loop_begin(loop, operands);
  for (int32_t k = 0; k < operands; k++) {
    if (!plug_is_present(tensors[k]) || tensors[k]->layout != 0) return PLUG_UNSUPPORTED;
    if (tensors[k]->ndim > tensors[0]->ndim) return PLUG_UNSUPPORTED;
    loop->base[k] = (char *)plug_address(&tensors[k]->mem);
    bytes[k] = (int64_t)PLUG_DTYPE_BYTES(tensors[k]->dtype);
  }
  /* Which dimensions a loop over nothing has does not matter, nor how many. */
  const int is_empty = plug_numel(tensors[0]) == 0;
  if (is_empty) loop->count = 0;
  for (int32_t d = 0; d < tensors[0]->ndim; d++) {
    for (int32_t k = 0; k < operands; k++)
      strides[k] = plug_expanded_stride(tensors[k], tensors[0], d, &fits);
    if (!fits) return PLUG_UNSUPPORTED;
    if (!is_empty && !plug_loop_add(loop, tensors[0]->sizes[d], strides))
      return PLUG_UNSUPPORTED;
  }
  plug_loop_finish(loop, bytes, flags);
  return PLUG_OK;
}

/* A walk in runs: n elements from data[k], strides[k] bytes apart. What is private is not
** the kernel's. */
typedef struct plug_runs {
  char *data[PLUG_LOOP_OPERANDS];
  const int64_t *strides;
  int64_t n;
  int64_t position; /* of the run's first element among all of the loop's */
  const plug_loop *private_loop;
  char *const *private_base;
  int64_t private_next;
  int64_t private_end;
  int64_t private_index[PLUG_LOOP_DIMS];
  int64_t
      private_row[PLUG_LOOP_OPERANDS]; /* bytes from the base to where the row begins */
} plug_runs;

/* Elements [begin, end) of the loop, with other first elements than loop->base has. */
static inline void plug_runs_from(plug_runs *runs, const plug_loop *loop,
                                  char *const *base, int64_t begin, int64_t end) {
  const int32_t last = loop->ndim - 1;
  int64_t rest = begin;
  runs->strides = loop->strides[last];
  runs->private_loop = loop;
  runs->private_base = base;
  runs->private_next = begin;
  runs->private_end = end;
  runs->private_index[last] = 0;
  for (int32_t k = 0; k < loop->operands; k++) runs->private_row[k] = 0;
  for (int32_t d = last; d >= 0 && begin < end; d--) {
    runs->private_index[d] = rest % loop->sizes[d];
    rest /= loop->sizes[d];
    for (int32_t k = 0; k < loop->operands && d != last; k++)
      runs->private_row[k] += runs->private_index[d] * loop->strides[d][k];
  }
}

static inline void plug_runs_begin(plug_runs *runs, const plug_loop *loop, int64_t begin,
                                   int64_t end) {
  plug_runs_from(runs, loop, loop->base, begin, end);
}

/* To the next row: the outer dimensions, counted up. */
static inline void plug_runs_carry(plug_runs *runs) {
  const plug_loop *loop = runs->private_loop;
  runs->private_index[loop->ndim - 1] = 0;
  for (int32_t d = loop->ndim - 2; d >= 0; d--) {
    const int64_t *strides = loop->strides[d];
    const int is_over = ++runs->private_index[d] == loop->sizes[d];
    const int64_t step = is_over ? 1 - loop->sizes[d] : 1;
    for (int32_t k = 0; k < loop->operands; k++)
      runs->private_row[k] += step * strides[k];
    if (!is_over) return;
    runs->private_index[d] = 0;
  }
}

/* The next run, in data and n; 0 if there is none. */
static inline int plug_runs_next(plug_runs *runs) {
  const plug_loop *loop = runs->private_loop;
  const int32_t last = loop->ndim - 1;
  const int64_t left = runs->private_end - runs->private_next;
  if (left <= 0) return 0;
  const int64_t first = runs->private_index[last];
  const int64_t row = loop->sizes[last] - first;
  runs->n = row < left ? row : left;
  runs->position = runs->private_next;
  for (int32_t k = 0; k < loop->operands; k++)
    runs->data[k] =
        runs->private_base[k] + runs->private_row[k] + first * runs->strides[k];
  runs->private_next += runs->n;
  if (runs->private_next < runs->private_end) plug_runs_carry(runs);
  return 1;
}

/* The part [begin, end) of `total` that number `index` of `count` takes, as host->team
** counts them: parts alike in size, in multiples of `unit` but for the last. */
static inline void plug_split(int64_t total, int64_t unit, int32_t index, int32_t count,
                              int64_t *begin, int64_t *end) {
  const int64_t units = (total + unit - 1) / unit;
  const int64_t each = units / count, more = units % count;
  const int64_t first = index * each + (index < more ? index : more);
  const int64_t next = first + each + (index < more ? 1 : 0);
  *begin = first * unit < total ? first * unit : total;
  *end = next * unit < total ? next * unit : total;
}

/* ------------------------------- reductions ----------------------------- */

/* `kept` has all operands, results first, and goes over the elements of a result; at each
** of them `reduced` has the inputs, and goes over what becomes that element, from the
** address that `kept` gives. Either may be the outer one; both can be split. */
typedef struct plug_reduction {
  plug_loop kept;
  plug_loop reduced;
} plug_reduction;

static inline int plug_reduction_add(plug_reduction *reduction, int32_t results,
                                     int is_reduced, int64_t size,
                                     const int64_t *strides) {
  return is_reduced ? plug_loop_add(&reduction->reduced, size, strides + results)
                    : plug_loop_add(&reduction->kept, size, strides);
}

/* In bytes, along dimension `d` of the input; its own number in the result is `kept`
** unless that has kept all. */
static inline int64_t plug_result_stride(const plug_tensor *result, int32_t ndim,
                                         int32_t d, int32_t kept, int64_t size,
                                         int *fits) {
  const int32_t own = result->ndim == ndim ? d : kept;
  if (own >= result->ndim || result->sizes[own] != size) {
    *fits = 0;
    return 0;
  }
  return result->strides[own] * (int64_t)PLUG_DTYPE_BYTES(result->dtype);
}

/* An input without elements has no address to go on from. */
static inline void plug_loop_stay(plug_loop *loop, int32_t from) {
  for (int32_t d = 0; d < loop->ndim; d++) {
    for (int32_t k = from; k < loop->operands; k++) loop->strides[d][k] = 0;
  }
}

/* tensors: `results` results of one shape, then inputs of one shape, to which those
** after the first may need expanding. `dims` as plug_dim_mask reads them. keepdim is
** seen in the shape of the results. PLUG_UNSUPPORTED as from plug_loop_make,
** PLUG_INVALID as from plug_dim_mask. */
static inline plug_status plug_reduction_make(plug_reduction *reduction, int32_t results,
                                              int32_t inputs,
                                              const plug_tensor *const *tensors,
                                              const plug_value *dims, int flags) {
  int64_t bytes[PLUG_LOOP_OPERANDS] = {0}, strides[PLUG_LOOP_OPERANDS];
  const int32_t operands = results + inputs;
  uint64_t mask = 0;
  int32_t kept = 0;
  int fits = 1;
  if (results < 0 || inputs < 1 || operands > PLUG_LOOP_OPERANDS) return PLUG_UNSUPPORTED;
  const plug_tensor *input = tensors[results];
  if (!plug_is_present(input)) return PLUG_UNSUPPORTED;
  const plug_status status = plug_dim_mask(dims, input->ndim, &mask);
  if (status != PLUG_OK) return status;
  plug_loop_begin(&reduction->kept, operands);
  plug_loop_begin(&reduction->reduced, inputs);
  for (int32_t k = 0; k < operands; k++) {
    if (!plug_is_present(tensors[k]) || tensors[k]->layout != 0) return PLUG_UNSUPPORTED;
    if (tensors[k]->ndim > input->ndim) return PLUG_UNSUPPORTED;
    bytes[k] = (int64_t)PLUG_DTYPE_BYTES(tensors[k]->dtype);
    reduction->kept.base[k] = (char *)plug_address(&tensors[k]->mem);
    if (k >= results) reduction->reduced.base[k - results] = reduction->kept.base[k];
  }
  for (int32_t d = 0; d < input->ndim; d++) {
    const int is_reduced = (int)(mask >> d & 1);
    const int64_t size = is_reduced ? 1 : input->sizes[d];
    for (int32_t k = 0; k < results; k++)
      strides[k] =
          is_reduced && tensors[k]->ndim != input->ndim
              ? 0
              : plug_result_stride(tensors[k], input->ndim, d, kept, size, &fits);
    for (int32_t k = results; k < operands; k++)
      strides[k] = plug_expanded_stride(tensors[k], input, d, &fits);
    if (!fits) return PLUG_UNSUPPORTED;
    if (!plug_reduction_add(reduction, results, is_reduced, input->sizes[d], strides))
      return PLUG_UNSUPPORTED;
    kept += !is_reduced;
  }
  for (int32_t k = 0; k < results; k++) {
    if (tensors[k]->ndim != kept && tensors[k]->ndim != input->ndim)
      return PLUG_UNSUPPORTED;
  }
  if (reduction->reduced.count == 0) plug_loop_stay(&reduction->kept, results);
  if (reduction->kept.count == 0) plug_loop_stay(&reduction->reduced, 0);
  plug_loop_finish(&reduction->kept, bytes, flags);
  plug_loop_finish(&reduction->reduced, bytes + results, flags);
  return PLUG_OK;
}

#ifdef __cplusplus
}
#endif
#endif /* TORCHPLUG_PLUG_UTIL_H */
