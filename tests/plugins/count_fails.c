/* Cannot tell how many devices there are. */
#include "base.h"

static plug_status device_count(int32_t *count) {
  (void)count;
  return fail(PLUG_INTERNAL, "the driver is older than the device");
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "count_fails");
  runtime.device_count = device_count;
  *out = &module;
  return PLUG_OK;
}
