/* What the host writes to a mapped range never reaches the device. */
#include "base.h"

static plug_status host_map(int32_t device, const plug_mem *mem, uint64_t bytes,
                            uint32_t flags, void **view) {
  void *copy = malloc(bytes);
  (void)device, (void)flags;
  if (!copy) return PLUG_UNSUPPORTED;
  *view = memcpy(copy, at(mem), bytes);
  return PLUG_OK;
}

static plug_status host_unmap(int32_t device, const plug_mem *mem, uint64_t bytes,
                              void *view) {
  (void)device, (void)mem, (void)bytes;
  free(view);
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "lost_maps");
  runtime.host_map = host_map;
  runtime.host_unmap = host_unmap;
  *out = &module;
  return PLUG_OK;
}
