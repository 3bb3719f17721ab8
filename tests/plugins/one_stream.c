/* One stream for all: whatever is created is the default stream. */
#include "on_sim.h"

static plug_status stream_create(int32_t device, int32_t priority, plug_stream *stream) {
  (void)device, (void)priority;
  *stream = malloc(1);
  return PLUG_OK;
}

static plug_status stream_destroy(int32_t device, plug_stream stream) {
  (void)device, (void)stream;
  return PLUG_OK;
}

static plug_status stream_query(int32_t device, plug_stream stream) {
  (void)stream;
  return sim.stream_query(device, NULL);
}

static plug_status stream_sync(int32_t device, plug_stream stream) {
  (void)stream;
  return sim.stream_sync(device, NULL);
}

static plug_status event_record(int32_t device, plug_event event, plug_stream stream) {
  (void)stream;
  return sim.event_record(device, event, NULL);
}

static plug_status event_wait(int32_t event_device, plug_event event,
                              int32_t stream_device, plug_stream stream) {
  (void)stream;
  return sim.event_wait(event_device, event, stream_device, NULL);
}

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  (void)stream;
  return sim.copy(device, NULL, dst, src, bytes);
}

static plug_status host_func(int32_t device, plug_stream stream,
                             void (*fn)(void *arg, plug_status status),
                             void (*release)(void *arg), void *arg) {
  (void)stream;
  return sim.host_func(device, NULL, fn, release, arg);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "one_stream");
  if (status != PLUG_OK) return status;
  runtime.stream_create = stream_create;
  runtime.stream_destroy = stream_destroy;
  runtime.stream_query = stream_query;
  runtime.stream_sync = stream_sync;
  runtime.event_record = event_record;
  runtime.event_wait = event_wait;
  runtime.copy = copy;
  runtime.host_func = host_func;
  *out = &module;
  return PLUG_OK;
}
