/* complex_elements.h - elements of tensors of every dtype of base.h's device, as complex
 * numbers. */
#ifndef TORCHPLUG_TESTS_COMPLEX_ELEMENTS_H
#define TORCHPLUG_TESTS_COMPLEX_ELEMENTS_H

#include <complex.h>

#include "base.h"

typedef double complex number;

static inline number load(const plug_tensor *tensor, int64_t element) {
  const void *p = at(&tensor->mem) + element * (int64_t)PLUG_DTYPE_BYTES(tensor->dtype);
  number value = 0;
  switch (tensor->dtype) {
    case PLUG_F32:
      value = *(const float *)p;
      break;
    case PLUG_F64:
      value = *(const double *)p;
      break;
    case PLUG_I32:
      value = *(const int32_t *)p;
      break;
    case PLUG_I64:
      value = (double)*(const int64_t *)p;
      break;
    case PLUG_BOOL:
      value = *(const uint8_t *)p;
      break;
    case PLUG_C64:
      value = *(const float complex *)p;
      break;
    default:
      break;
  }
  if (tensor->flags & PLUG_TENSOR_CONJ) value = conj(value);
  if (tensor->flags & PLUG_TENSOR_NEG) value = -value;
  return value;
}

static inline void store(const plug_tensor *tensor, int64_t element, number value) {
  void *p = at(&tensor->mem) + element * (int64_t)PLUG_DTYPE_BYTES(tensor->dtype);
  switch (tensor->dtype) {
    case PLUG_F32:
      *(float *)p = (float)creal(value);
      break;
    case PLUG_F64:
      *(double *)p = creal(value);
      break;
    case PLUG_I32:
      *(int32_t *)p = (int32_t)creal(value);
      break;
    case PLUG_I64:
      *(int64_t *)p = (int64_t)creal(value);
      break;
    case PLUG_BOOL:
      *(uint8_t *)p = value != 0;
      break;
    case PLUG_C64:
      *(float complex *)p = (float complex)value;
      break;
    default:
      break;
  }
}

/* Where element `i` of a tensor of `like`'s shape lies in `tensor`, which may need
 * expanding to it. */
static inline int64_t element_of(const plug_tensor *tensor, const plug_tensor *like,
                                 int64_t i) {
  int64_t element = 0;
  for (int32_t back = 1; back <= like->ndim; back++) {
    const int64_t size = like->sizes[like->ndim - back];
    const int32_t d = tensor->ndim - back;
    if (d >= 0 && tensor->sizes[d] > 1) element += i % size * tensor->strides[d];
    i /= size;
  }
  return element;
}

static inline number scalar_of(const plug_value *value) {
  if (value->tag == PLUG_VALUE_FLOAT) return value->as.f;
  if (value->tag == PLUG_VALUE_COMPLEX)
    return value->as.floats[0] + value->as.floats[1] * I;
  return (double)value->as.i;
}

#endif
