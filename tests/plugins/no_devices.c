/* A driver without a device. */
#include "base.h"

static plug_status device_count(int32_t *count) {
  *count = 0;
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "no_devices");
  runtime.device_count = device_count;
  *out = &module;
  return PLUG_OK;
}
