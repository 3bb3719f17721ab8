/* see.h - copies of what a kernel was given, for tests to look at later. */
#ifndef TORCHPLUG_TESTS_SEE_H
#define TORCHPLUG_TESTS_SEE_H

#include "base.h"
#include "kernels.h"

static inline seen_tensor see_tensor(const plug_tensor *tensor) {
  seen_tensor seen = {NULL,          tensor->dtype, tensor->ndim, tensor->mem.device,
                      tensor->flags, {0},           {0}};
  if (tensor->ndim >= 0 && tensor->mem.base) seen.place = at(&tensor->mem);
  for (int32_t d = 0; d < tensor->ndim && d < SEEN_DIMS; d++) {
    seen.sizes[d] = tensor->sizes[d];
    seen.strides[d] = tensor->strides[d];
  }
  return seen;
}

static inline void see_value(const plug_value *value, seen_value *seen) {
  memset(seen, 0, sizeof *seen);
  seen->tag = value->tag;
  seen->count = value->count;
  if (value->tag == PLUG_VALUE_STR) {
    strncpy(seen->text, value->as.str, sizeof seen->text - 1);
    return;
  }
  seen->i = value->as.i;
  seen->u = value->as.u;
  seen->f = value->as.f;
  if (value->tag == PLUG_VALUE_COMPLEX)
    memcpy(seen->floats, value->as.floats, 2 * sizeof(double));
  for (uint32_t i = 0; i < value->count && i < SEEN_ITEMS; i++) {
    if (value->tag == PLUG_VALUE_INTS) seen->ints[i] = value->as.ints[i];
    if (value->tag == PLUG_VALUE_FLOATS) seen->floats[i] = value->as.floats[i];
    if (value->tag == PLUG_VALUE_TENSOR || value->tag == PLUG_VALUE_TENSORS) {
      seen->tensors[i] = see_tensor(&value->as.tensors[i]);
    }
  }
}

#endif
