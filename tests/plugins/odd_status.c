/* Answers with a status of its own making. */
#include "base.h"

static plug_status device_sync(int32_t device) {
  (void)device;
  return 99;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "odd_status");
  runtime.device_sync = device_sync;
  *out = &module;
  return PLUG_OK;
}
