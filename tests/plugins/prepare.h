/* prepare.h - what the prepare plugin tells tests. */
#ifndef TORCHPLUG_TESTS_PREPARE_H
#define TORCHPLUG_TESTS_PREPARE_H

#include "torchplug/plug.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct prepare_counts {
  int64_t prepared; /* states made */
  int64_t declined;
  int64_t forgotten;
  int64_t called;        /* kernels, whatever they answered */
  int64_t done;          /* work that a stream has executed with its state there */
  int64_t wrong;         /* with a state that was none, another's or forgotten */
  uint64_t flags;        /* of the last prepare */
  uint64_t called_flags; /* of the last call */
} prepare_counts;

PLUG_EXPORT const prepare_counts *prepare_seen(void);

#ifdef __cplusplus
}
#endif
#endif
