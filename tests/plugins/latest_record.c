/* A wait is for whatever the latest record is when the stream comes to it, not for the
** record made before the wait. */
#include <sched.h>

#include "on_sim.h"

struct wait {
  int32_t device;
  plug_event event;
};

static void wait_for_latest(void *arg, plug_status status) {
  const struct wait *wait = arg;
  (void)status;
  while (sim.event_query(wait->device, wait->event) == PLUG_NOT_READY) sched_yield();
}

static plug_status event_wait(int32_t event_device, plug_event event,
                              int32_t stream_device, plug_stream stream) {
  struct wait *wait = malloc(sizeof *wait);
  *wait = (struct wait){event_device, event};
  return sim.host_func(stream_device, stream, wait_for_latest, free, wait);
}

/* The event is still looked at. */
static plug_status event_destroy(int32_t device, plug_event event) {
  (void)device, (void)event;
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "latest_record");
  if (status != PLUG_OK) return status;
  runtime.event_wait = event_wait;
  runtime.event_destroy = event_destroy;
  *out = &module;
  return PLUG_OK;
}
