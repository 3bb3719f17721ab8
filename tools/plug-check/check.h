/* check.h - what the checks share: the plugin under test, and how to judge it.
** Every check runs in a process of its own, into which the plugin is loaded anew, so
** a check may end the process at any moment and cleans up only what it checks. */
#ifndef PLUG_CHECK_H
#define PLUG_CHECK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loaded.h"
#include "torchplug/plug.h"

struct check {
  const char *name;
  const char *promise;
  void (*run)(void);
  enum { OPENED, LOADED, UNLOADED } begins; /* what the plugin is when it begins */
  void (*peer)(void); /* run in a second process, which is connected by `wire` */
};

/* One list per file, ended by an entry without a name. */
extern const struct check device_checks[], memory_checks[], copy_checks[],
    strided_checks[], map_checks[], stream_checks[], event_checks[], host_func_checks[],
    capture_checks[], ipc_checks[], growth_checks[], thread_checks[], error_checks[],
    compiler_checks[], engine_checks[], kernel_checks[];

/* ---- The plugin under test (plugin.c). ---- */

extern plug_device_info info; /* of `device` */
extern int32_t device;        /* the one to check */
extern int32_t device_total;
extern int32_t wire; /* a socket to the other process of a check that has two */

/* Loads the plugin; on failure gives the reason, which is static. */
extern const char *plugin_path;
const char *load_plugin(void);
/* Asks for the devices and opens `device`. */
void open_plugin(void);
void open_device(int32_t index);

/* Seconds that a check may take (plug_check.c). */
extern int time_limit;

/* Functions of plug_runtime of which a plugin has all or none; they lie in a row. */
struct function_group {
  const char *name;
  size_t first; /* its offset */
  uint32_t count;
};
enum { FUNCTION_GROUPS = 6 };
extern const struct function_group function_groups[FUNCTION_GROUPS];
/* How many of them the plugin has. */
uint32_t functions_there(const struct function_group *group);

/* ---- Judging (tools.c). ---- */

#define PRINTF_LIKE(words, first) __attribute__((format(printf, words, first)))

/* Each of these two ends the check. */
_Noreturn void fail(const char *format, ...) PRINTF_LIKE(1, 2);
_Noreturn void absent(const char *what_the_host_does);
/* What is said of a check that ends well. */
void remark(const char *format, ...) PRINTF_LIKE(1, 2);
void expect(bool condition, const char *format, ...) PRINTF_LIKE(2, 3);
/* What is said if the check has to be ended here. */
void doing(const char *what);

/* The call succeeded. */
void ok(plug_status status, const char *call);
/* The call was refused as the header says: unsupported, or invalid with a sentence. */
void refused(plug_status status, const char *call);
/* A status that exists, and a sentence if it is an error; gives the sentence, or NULL. */
const char *well_formed(plug_status status, const char *call);

/* ---- Doing (tools.c). ---- */

void need_streams(void);
void need_host_func(void);
/* The index of a second device, opened. */
int32_t need_other_device(void);

void *allocate(uint64_t bytes);
void *allocate_on(int32_t index, uint64_t bytes);
/* Waits for the device first. */
void release(void *base);
plug_mem on_device(void *base, uint64_t offset);
plug_mem on_host(const void *address);

/* Between ordinary host memory and device memory; done when they return. */
void put(void *base, uint64_t offset, const void *from, uint64_t bytes);
void get(void *to, void *base, uint64_t offset, uint64_t bytes);
/* Both ways for any memory. */
void put_in(plug_mem dst, const void *from, uint64_t bytes);
void get_from(void *to, plug_mem src, uint64_t bytes);
/* The same on a stream, waiting for no other. */
void get_on(plug_stream stream, void *to, void *base, uint64_t bytes);

plug_stream new_stream(void);
plug_event new_event(uint32_t flags);
void run_on(plug_stream stream, void (*fn)(void *arg, plug_status status), void *arg);
void no_release(void *arg);

/* Holds a stream from hold() to open_gate(). */
struct gate {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool entered, open;
};
void hold(plug_stream stream, struct gate *gate);
void hold_on(int32_t index, plug_stream stream, struct gate *gate);
/* Returns once the stream stands at the gate. */
void wait_for_entry(struct gate *gate);
void open_gate(struct gate *gate);

/* For run_on. */
void sleep_a_little(void *arg, plug_status status); /* 20 ms */
void count_up(void *counter, plug_status status);   /* an atomic_int */

uint32_t random_below(uint32_t limit);
void fill_random(void *to, uint64_t bytes);
/* Where two ranges first differ, or -1. */
int64_t first_difference(const void *a, const void *b, uint64_t bytes);

#endif
