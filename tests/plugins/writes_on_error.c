/* Writes its output and then fails. */
#include "base.h"

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  if (bytes <= BASE_MEMORY) return base_alloc(device, bytes, base);
  *base = NULL;
  return fail(PLUG_NO_MEMORY, "the device has no memory left");
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "writes_on_error");
  runtime.mem_alloc = mem_alloc;
  *out = &module;
  return PLUG_OK;
}
