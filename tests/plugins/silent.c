/* Has no memory for anything large and does not say why. */
#include "base.h"

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  return bytes > BASE_MEMORY ? PLUG_NO_MEMORY : base_alloc(device, bytes, base);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "silent");
  runtime.mem_alloc = mem_alloc;
  *out = &module;
  return PLUG_OK;
}
