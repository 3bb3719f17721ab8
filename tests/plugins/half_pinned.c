/* Can pin host memory but not let it go. */
#include "base.h"

static plug_status host_alloc(uint64_t bytes, void **base) {
  return base_alloc(PLUG_HOST, bytes, base);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "half_pinned");
  runtime.host_alloc = host_alloc;
  *out = &module;
  return PLUG_OK;
}
