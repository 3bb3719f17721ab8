/* Replays at once, whatever its stream still has to do. */
#include "on_sim.h"

static plug_status capture_replay(int32_t device, plug_capture capture,
                                  plug_stream stream) {
  (void)stream;
  plug_stream own = own_stream(device);
  return finish(device, own, sim.capture_replay(device, capture, own));
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "replays_at_once");
  if (status != PLUG_OK) return status;
  runtime.capture_replay = capture_replay;
  *out = &module;
  return PLUG_OK;
}
