/* Falls over when memory is given back. */
#include "base.h"

static plug_status mem_free(int32_t device, void *base) {
  (void)device, (void)base;
  abort();
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "crashes");
  runtime.mem_free = mem_free;
  *out = &module;
  return PLUG_OK;
}
