/* Captures one stream only: others that wait for its events go on as if nothing was. */
#include "on_sim.h"

static plug_stream capturing;

static plug_status capture_begin(int32_t device, plug_stream stream, int32_t mode) {
  capturing = stream;
  return sim.capture_begin(device, stream, mode);
}

static plug_status capture_end(int32_t device, plug_stream stream,
                               plug_capture *capture) {
  capturing = NULL;
  return sim.capture_end(device, stream, capture);
}

static plug_status event_wait(int32_t event_device, plug_event event,
                              int32_t stream_device, plug_stream stream) {
  return capturing ? PLUG_OK : sim.event_wait(event_device, event, stream_device, stream);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "joins_nobody");
  if (status != PLUG_OK) return status;
  runtime.capture_begin = capture_begin;
  runtime.capture_end = capture_end;
  runtime.event_wait = event_wait;
  *out = &module;
  return PLUG_OK;
}
