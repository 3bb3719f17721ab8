/* Forgets the size of its runtime table. */
#include "base.h"

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "no_size");
  runtime.size = 0;
  *out = &module;
  return PLUG_OK;
}
