/* Leaves out one of the six mandatory functions. */
#include "base.h"

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "missing_copy");
  runtime.copy = NULL;
  *out = &module;
  return PLUG_OK;
}
