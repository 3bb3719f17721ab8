/* Takes any flag for one it knows. */
#include "base.h"

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  (void)device, (void)stream;
  memmove(at(dst), at(src), bytes);
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "any_flag");
  runtime.copy = copy;
  *out = &module;
  return PLUG_OK;
}
