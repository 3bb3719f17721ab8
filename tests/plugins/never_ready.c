/* An event is ready only once it has been recorded. */
#include "on_sim.h"

static plug_event recorded[1 << 16];
static size_t records;

static plug_status event_record(int32_t device, plug_event event, plug_stream stream) {
  if (records < sizeof recorded / sizeof *recorded) recorded[records++] = event;
  return sim.event_record(device, event, stream);
}

static plug_status event_query(int32_t device, plug_event event) {
  for (size_t i = 0; i < records; i++) {
    if (recorded[i] == event) return sim.event_query(device, event);
  }
  return PLUG_NOT_READY;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "never_ready");
  if (status != PLUG_OK) return status;
  runtime.event_record = event_record;
  runtime.event_query = event_query;
  *out = &module;
  return PLUG_OK;
}
