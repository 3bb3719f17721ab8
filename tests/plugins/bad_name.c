/* Has a name that no torch device can have. */
#include "base.h"

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "Bad-Name");
  *out = &module;
  return PLUG_OK;
}
