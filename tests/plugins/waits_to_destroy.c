/* Waits for a stream before it destroys it. */
#include "on_sim.h"

static plug_status stream_destroy(int32_t device, plug_stream stream) {
  const plug_status status = sim.stream_sync(device, stream);
  return status == PLUG_OK ? sim.stream_destroy(device, stream) : status;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "waits_to_destroy");
  if (status != PLUG_OK) return status;
  runtime.stream_destroy = stream_destroy;
  *out = &module;
  return PLUG_OK;
}
