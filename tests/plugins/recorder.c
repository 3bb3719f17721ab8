/* A synchronous device with a profiler whose clock has nothing in common with the
** host's: it began long ago and runs half as fast again. relu records two kernels.
** RECORDER_FAILS names a function that fails, RECORDER_LOSES makes drain lose records,
** and RECORDER_MISDATES dates them long before all else. */
#include <stdlib.h>
#include <time.h>

#include "base.h"

static plug_record records[64];
static uint32_t count;
static uint64_t current;
static int recording;

static int64_t now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return ((int64_t)time.tv_sec * 1000000000 + time.tv_nsec) * 3 / 2 + 1000000000000000;
}

static int has_failed(const char *function) {
  const char *chosen = getenv("RECORDER_FAILS");
  return chosen && strcmp(chosen, function) == 0;
}

static plug_status start(void) {
  if (has_failed("start")) return fail(PLUG_INTERNAL, "the tracing unit is in use");
  recording = 1;
  return PLUG_OK;
}

static plug_status stop(void) {
  recording = 0;
  return PLUG_OK;
}

static plug_status read_clock(int32_t device, int64_t *ns) {
  (void)device;
  if (has_failed("clock")) return fail(PLUG_INTERNAL, "the tracing unit is in use");
  *ns = now();
  return PLUG_OK;
}

static plug_status label(int32_t device, plug_stream stream, uint64_t given) {
  (void)device, (void)stream;
  current = given;
  return PLUG_OK;
}

static plug_status drain(int32_t device, void (*take)(void *, const plug_record *),
                         void *context, uint64_t *lost) {
  (void)device;
  for (uint32_t i = 0; i < count; i++) take(context, &records[i]);
  count = 0;
  *lost = getenv("RECORDER_LOSES") ? 3 : 0;
  return PLUG_OK;
}

static void add(const char *name, uint64_t under, int64_t from) {
  plug_record *record = &records[count++];
  memset(record, 0, sizeof *record);
  record->size = sizeof *record;
  record->kind = PLUG_RECORD_KERNEL;
  record->label = under;
  record->start = getenv("RECORDER_MISDATES") ? 1 : from;
  record->end = now();
  record->name = name;
}

/* The last record is of work that the host did not launch. */
static plug_status relu(const plug_call *call) {
  const int64_t began = now();
  const plug_status status = base_relu(call);
  const int64_t middle = now();
  if (status != PLUG_OK || !recording || count > 60) return status;
  add("load and compare", current, began);
  add("store", current, middle);
  add("garbage collection", 0, middle);
  return PLUG_OK;
}

static const plug_kernel kernel_list[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor", .fn = relu}};

static const plug_profiler profiler = {
    .size = sizeof profiler,
    .start = start,
    .stop = stop,
    .clock = read_clock,
    .label = label,
    .drain = drain,
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "recorder");
  add_kernels(kernel_list, 1);
  module.profiler = &profiler;
  *out = &module;
  return PLUG_OK;
}
