/* kernels.h - what the kernels plugin tells tests about the calls its kernels got. */
#ifndef TORCHPLUG_TESTS_KERNELS_H
#define TORCHPLUG_TESTS_KERNELS_H

#include "torchplug/plug.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SEEN_DIMS = 6, SEEN_ITEMS = 4, SEEN_ARGS = 8, SEEN_RESULTS = 3 };

typedef struct seen_tensor {
  const char *place; /* of the first element; NULL if there are none */
  plug_dtype dtype;
  int32_t ndim;
  int32_t device;
  uint32_t flags;
  int64_t sizes[SEEN_DIMS];
  int64_t strides[SEEN_DIMS];
} seen_tensor;

typedef struct seen_value { /* a plug_value with its items copied */
  int32_t tag;
  uint32_t count;
  int64_t i;
  uint64_t u;
  double f;
  int64_t ints[SEEN_ITEMS];
  double floats[SEEN_ITEMS];
  char text[16];
  seen_tensor tensors[SEEN_ITEMS];
} seen_value;

typedef struct seen_calls {
  uint64_t count; /* since the process began; what follows is the last one's */
  uint64_t flags;
  uint64_t sequence;
  uint32_t arg_count;
  uint32_t result_count;
  plug_status status;
  plug_dtype compute;
  char schema[128]; /* how it begins */
  seen_value args[SEEN_ARGS];
  seen_value results[SEEN_RESULTS];
} seen_calls;

/* The calls of the kernel whose schema begins so ("aten::relu("), or NULL. Not for
 * several threads. */
PLUG_EXPORT const seen_calls *kernels_seen(const char *beginning);

/* How often host->rng gave the kernel of uniform an answer, whatever it was. */
PLUG_EXPORT uint64_t kernels_rng_answers(void);

/* Copies that the runtime was asked for. */
PLUG_EXPORT int64_t kernels_copies(void);

/* Device memory given out and not yet taken back, in allocations. */
PLUG_EXPORT int64_t kernels_allocations(void);

#ifdef __cplusplus
}
#endif
#endif
