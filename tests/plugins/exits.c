/* Ends the process when it does not like what it is asked for. */
#include "base.h"

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  if (bytes > BASE_MEMORY) exit(3);
  return base_alloc(device, bytes, base);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "exits");
  runtime.mem_alloc = mem_alloc;
  *out = &module;
  return PLUG_OK;
}
