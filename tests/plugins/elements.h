/* elements.h - elements of tensors of any strides as double, for plugins whose kernels
 * need not be fast. */
#ifndef TORCHPLUG_TESTS_ELEMENTS_H
#define TORCHPLUG_TESTS_ELEMENTS_H

#include <stdint.h>

#include "torchplug/plug.h"

static inline char *element_at(const plug_tensor *tensor, int64_t i) {
  int64_t offset = 0;
  for (int32_t d = tensor->ndim - 1; d >= 0; d--) {
    offset += i % tensor->sizes[d] * tensor->strides[d];
    i /= tensor->sizes[d];
  }
  return (char *)tensor->mem.base + tensor->mem.offset +
         offset * (int64_t)PLUG_DTYPE_BYTES(tensor->dtype);
}

static inline int64_t elements_of(const plug_tensor *tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim; d++) count *= tensor->sizes[d];
  return count;
}

/* Element i in the order of dimensions. */
static inline double get(const plug_tensor *tensor, int64_t i) {
  const void *p = element_at(tensor, i);
  switch (tensor->dtype) {
    case PLUG_F32:
      return *(const float *)p;
    case PLUG_F64:
      return *(const double *)p;
    case PLUG_I32:
      return *(const int32_t *)p;
    case PLUG_I64:
      return (double)*(const int64_t *)p;
    default:
      return *(const uint8_t *)p;
  }
}

static inline void set(const plug_tensor *tensor, int64_t i, double value) {
  void *p = element_at(tensor, i);
  switch (tensor->dtype) {
    case PLUG_F32:
      *(float *)p = (float)value;
      break;
    case PLUG_F64:
      *(double *)p = value;
      break;
    case PLUG_I32:
      *(int32_t *)p = (int32_t)value;
      break;
    case PLUG_I64:
      *(int64_t *)p = (int64_t)value;
      break;
    default:
      *(uint8_t *)p = value != 0;
  }
}

static inline int is_float(const plug_tensor *tensor) {
  return tensor->dtype == PLUG_F32 || tensor->dtype == PLUG_F64;
}

/* A Scalar, or the element of a tensor of one. */
static inline double number_of(const plug_value *value) {
  if (value->tag == PLUG_VALUE_FLOAT) return value->as.f;
  if (value->tag == PLUG_VALUE_TENSOR) return get(value->as.tensors, 0);
  return (double)value->as.i;
}

#endif
