/* Waits for ever for its device. */
#include <unistd.h>

#include "base.h"

static plug_status device_sync(int32_t device) {
  while (device >= 0) pause();
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "hangs");
  runtime.device_sync = device_sync;
  *out = &module;
  return PLUG_OK;
}
