/* Has the name of a device that PyTorch knows already. */
#include "base.h"

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "cuda");
  *out = &module;
  return PLUG_OK;
}
