/* calls.h - the call being made: tensors between guards, its arguments and results. What
** calls of kernels with examples (calls.c) and of own operators (own.c) share. */
#ifndef PLUG_CHECK_CALLS_H
#define PLUG_CHECK_CALLS_H

#include "kernels.h"
#include "own.h"

enum layout { BY_ROWS, PERMUTED, WITH_GAPS };

struct placed { /* a tensor in memory of its own, with guards on both sides */
  plug_tensor tensor;
  int64_t sizes[DIMS], strides[DIMS];
  uint64_t first, bytes; /* where its elements begin, and all there is */
  unsigned char *before, *after;
  bool is_result, is_written;
};

extern plug_tensor lists[MOST_ARGS][MOST_ITEMS]; /* of arguments */
extern plug_value args[MOST_ARGS], results[MOST_RESULTS];
extern struct placed *result_places[MOST_RESULTS];
extern uint64_t sequence;
extern bool allocates;         /* results, when the kernel shapes them */
extern char what[256];         /* is called, for messages */
extern struct shaped *shaping; /* where host->output notes what it is asked, or NULL */

struct placed *place(plug_dtype dtype, int32_t ndim, const int64_t *sizes,
                     enum layout layout, int32_t on);
void put_values(struct placed *placed, const struct array *array);
/* A result, or one more of a list. */
void add_result(uint32_t index, struct placed *placed, bool is_list);
/* With the arguments and results as they are now. */
plug_call start_call(const plug_kernel *kernel, const struct schema *schema,
                     const char *operator_schema, int32_t on);
/* What has become of all tensors. example: NULL without a reference. */
void look_at(plug_status status, const struct example *example, enum look look);
void release_all(void);

#endif
