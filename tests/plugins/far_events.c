/* sim with events that mean nothing to another device, as those of some drivers do. */
#include <stdatomic.h>

#include "on_sim.h"

static atomic_int declined;

/* How often a wait across devices was declined. */
PLUG_EXPORT int declined_waits(void) { return declined; }

static plug_status event_wait(int32_t event_device, plug_event event,
                              int32_t stream_device, plug_stream stream) {
  if (event_device == stream_device)
    return sim.event_wait(event_device, event, stream_device, stream);
  declined++;
  return PLUG_UNSUPPORTED;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  const plug_status status = make_sim(given, "far_events");
  if (status != PLUG_OK) return status;
  runtime.event_wait = event_wait;
  *out = &module;
  return PLUG_OK;
}
