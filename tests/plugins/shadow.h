/* shadow.h - what the shadow plugin tells tests, and how they break it. */
#ifndef TORCHPLUG_TESTS_SHADOW_H
#define TORCHPLUG_TESTS_SHADOW_H

#include "torchplug/plug.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How often the host has called a function of plug_runtime ("stream_sync"). */
PLUG_EXPORT uint64_t shadow_count(const char *function);

/* The next call of the function fails so, once. */
PLUG_EXPORT void shadow_break(const char *function, plug_status status,
                              const char *sentence);

/* The next call of the kernel of aten::neg is enqueued, and reported so when its turn
 * comes. */
PLUG_EXPORT void shadow_report_next(plug_status status, const char *sentence);

/* The priority that the last stream was asked for with. */
PLUG_EXPORT int32_t shadow_priority(void);

/* The name and the number that the last call of a kernel came with. */
PLUG_EXPORT const char *shadow_name(void);
PLUG_EXPORT uint64_t shadow_sequence(void);

/* A stream that the host knows nothing of: its native handle. */
PLUG_EXPORT void *shadow_make_stream(int32_t device);

#ifdef __cplusplus
}
#endif
#endif
