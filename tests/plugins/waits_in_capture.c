/* Takes a sync of the device in a capture for one like any other. */
#include "on_sim.h"

static plug_status device_sync(int32_t device) {
  (void)device;
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "waits_in_capture");
  if (status != PLUG_OK) return status;
  runtime.device_sync = device_sync;
  *out = &module;
  return PLUG_OK;
}
