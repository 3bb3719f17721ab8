/* Gives memory 8 bytes behind where its alignment says. */
#include "base.h"

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  const uint64_t more = bytes > BASE_MEMORY ? bytes : bytes + 64;
  const plug_status status = base_alloc(device, more, base);
  if (status == PLUG_OK) *base = (char *)*base + 8;
  return status;
}

static plug_status mem_free(int32_t device, void *base) {
  return base_free(device, (char *)base - 8);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "misaligned");
  runtime.mem_alloc = mem_alloc;
  runtime.mem_free = mem_free;
  *out = &module;
  return PLUG_OK;
}
